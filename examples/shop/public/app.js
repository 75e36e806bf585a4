// One stream brings all content: events, samples, and snapshots at most four times a second.
import { connectActions, showConditions } from './actions.js';
import { addSamples } from './charts.js';
import { keepForConfirm } from './confirm.js';
import { showCrash } from './crash.js';
import { byId, setText, timeOf } from './dom.js';
import { foldWhereNarrow } from './folds.js';
import { watchJob } from './job-dialog.js';
import { offsets, onPage, showLists } from './lists.js';
import { showNumbers } from './numbers.js';
import { showPicture } from './picture.js';
import { showStory } from './story.js';

let source;
let awaySince;

function listen() {
  source?.close();
  source = new EventSource(`/live?${new URLSearchParams(offsets)}`);
  source.addEventListener('snapshot', (event) => show(JSON.parse(event.data)));
  source.addEventListener('story', (event) => showStory(JSON.parse(event.data)));
  source.addEventListener('samples', (event) => addSamples(JSON.parse(event.data)));
  source.addEventListener('error', onError);
}

function onError() {
  state('away', 'Not connected');
  tellAway('The shop does not answer. This page goes on by itself as soon as it does.');
  // The browser reconnects by itself, except after a response that is no stream.
  if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2_000);
}

function show(snapshot) {
  if (snapshot.redis) {
    awaySince = undefined;
    state('live', 'Live');
    tellAway('');
    keepForConfirm(snapshot.stats);
    showNumbers(snapshot.stats);
    showConditions(snapshot.stats, snapshot.size);
    showLists(snapshot.lists, snapshot.stats);
  } else {
    awaySince ??= Date.now();
    state('away', 'Redis is away');
    tellAway(
      `Redis has not answered since ${timeOf(awaySince)}. What is shown is older. The work goes on when Redis is back.`,
    );
  }
  showPicture(snapshot);
  showCrash(snapshot);
  watchJob(snapshot);
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

// A hidden page closes its stream.
document.addEventListener('visibilitychange', () => (document.hidden ? source.close() : listen()));

foldWhereNarrow();
connectActions();
onPage(listen);
listen();
