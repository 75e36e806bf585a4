import { render } from 'preact';
import { App } from './shell/app.js';
import { follow } from './state/live.js';
import './style/style.css';

const root = document.querySelector('#app')!;
root.replaceChildren();
render(<App />, root);
follow();
