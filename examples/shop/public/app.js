// One stream brings everything that is shown: snapshots, twice a second at most, and samples for the charts.
import { connectActions, showConditions } from './actions.js';
import { addSamples } from './charts.js';
import { showCrash } from './crash.js';
import { byId, count, setText, timeOf } from './dom.js';
import { watchJob } from './job-dialog.js';
import { offsets, onPage, showLists } from './lists.js';
import { showStory } from './story.js';
import { showWorkers } from './workers.js';

let source;
let awaySince;

function listen() {
  source?.close();
  source = new EventSource(`/live?${new URLSearchParams(offsets)}`);
  source.addEventListener('snapshot', (event) => show(JSON.parse(event.data)));
  source.addEventListener('samples', (event) => addSamples(JSON.parse(event.data)));
  source.addEventListener('error', onError);
}

function onError() {
  state('away', 'Not connected');
  tellAway('The shop does not answer. This page goes on by itself as soon as it does.');
  // The browser tries again by itself, but not after an answer that was no stream.
  if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2_000);
}

function show(snapshot) {
  showWorkers(snapshot.workers);
  showStory(snapshot.story);
  if (snapshot.redis) {
    awaySince = undefined;
    state('live', 'Live');
    tellAway('');
    showNumbers(snapshot.stats);
    showConditions(snapshot.stats, snapshot.size);
    showLists(snapshot.lists);
  } else {
    awaySince ??= Date.now();
    state('away', 'Redis is away');
    tellAway(
      `Redis has not answered since ${timeOf(awaySince)}. What is shown is older. The work goes on when Redis is back.`,
    );
  }
  showCrash(snapshot.show);
  watchJob(snapshot);
}

function showNumbers(stats) {
  for (const node of document.querySelectorAll('[data-stat]')) setText(node, count(stats[node.dataset.stat]));
  setText(document.querySelector('[data-visibility]'), `${stats.visibility_ms / 1_000} s`);
}

function state(name, text) {
  document.body.dataset.state = name;
  setText(byId('connection'), text);
}

function tellAway(text) {
  const banner = byId('away');
  setText(banner, text);
  banner.hidden = text === '';
}

connectActions();
onPage(listen);
listen();
