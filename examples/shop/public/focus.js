// What keeps the keyboard's focus where it was, while things come and go under it.

/** A button that is off: as `disabled`, but the focus stays on it. */
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

/** Makes a change to a part of the page; where it takes away what has the focus, the part itself has it then. */
export function keepingFocus(part, change) {
  const focused = document.activeElement;
  const inside = focused !== part && part.contains(focused);
  change();
  if (!inside) return;
  const isThere = part.contains(focused) && !focused.closest('[hidden]');
  if (!isThere) part.focus();
  else if (document.activeElement !== focused) focused.focus();
}
