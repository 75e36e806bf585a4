import { h } from 'vue';
import { useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import MatrixFilter from './MatrixFilter.vue';
import './wide.css';
import './home.css';

/** Pages whose tables are matrices of options and events. */
const MATRICES = ['combinations.md'];

export default {
  extends: DefaultTheme,
  Layout: () => {
    const { page } = useData();
    const filter = () => (MATRICES.includes(page.value.relativePath) ? h(MatrixFilter) : undefined);
    return h(DefaultTheme.Layout, null, { 'doc-before': filter });
  },
};
