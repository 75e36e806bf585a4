import { defineAsyncComponent, h } from 'vue';
import { useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import MatrixFilter from './MatrixFilter.vue';
import './pages.css';
import './home.css';

/** Pages whose tables are matrices of options and events. */
const MATRICES = ['combinations.md'];

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    // Only the browser loads it, and only on its page.
    app.component(
      'Playground',
      defineAsyncComponent(() => import('../playground/Playground.vue')),
    );
  },
  Layout: () => {
    const { page } = useData();
    const filter = () => (MATRICES.includes(page.value.relativePath) ? h(MatrixFilter) : undefined);
    return h(DefaultTheme.Layout, null, { 'doc-before': filter });
  },
};
