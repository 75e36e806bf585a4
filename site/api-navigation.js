// typedoc builds its navigation in the browser, with a link inside of the control that opens a module. A control must
// have no other inside, so the link becomes the first entry of the module.
new MutationObserver(() => {
  for (const link of document.querySelectorAll('#tsd-nav-container summary a')) {
    const name = document.createElement('span');
    name.append(...link.childNodes);
    link.replaceWith(name);
    link.textContent = 'Overview';
    const entry = document.createElement('li');
    entry.append(link);
    name.closest('details').querySelector('ul').prepend(entry);
  }
}).observe(document.documentElement, { childList: true, subtree: true });
