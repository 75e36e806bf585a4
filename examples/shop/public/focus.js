// Keeps the keyboard's focus in place while elements come and go.

/** Turns a button off like `disabled`, but keeps the focus on it. */
export function setOff(button, off) {
  button.ariaDisabled = String(off);
}

document.addEventListener(
  'click',
  (event) => {
    if (event.target.closest?.('[aria-disabled=true]')) event.stopImmediatePropagation();
  },
  { capture: true },
);

/** Makes a change to a part of the page. If that removes the focused element, the part itself gets the focus. */
export function keepingFocus(part, change) {
  const focused = document.activeElement;
  const inside = focused !== part && part.contains(focused);
  change();
  if (!inside) return;
  const isThere = part.contains(focused) && !focused.closest('[hidden]');
  if (!isThere) part.focus();
  else if (document.activeElement !== focused) focused.focus();
}
