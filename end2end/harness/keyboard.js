// Walks a page with the Tab key and says what a person who uses nothing else would miss.

/** More stops than any page should have. */
const MOST = 400;

/**
 * Tabs from the top of the page until the focus leaves it.
 * @returns {Promise<{stops: {tag: string, name: string, href: string | null}[], faults: string[]}>}
 */
export async function walk(page) {
  await page.evaluate(() => {
    globalThis.scrollTo(0, 0);
    document.activeElement?.blur();
    globalThis.getSelection()?.removeAllRanges();
    // The next Tab starts at the top of the document, wherever focus was before.
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
  });
  const stops = [];
  const faults = [];
  const seen = new Set();
  while (stops.length < MOST) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(describe);
    if (!stop || seen.has(stop.key)) break;
    seen.add(stop.key);
    stops.push(stop);
    for (const fault of stop.faults) faults.push(`${stop.key}: ${fault}`);
  }
  return { stops, faults };
}

/** Runs in the page: what has the focus, and what is wrong with it. */
function describe() {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return null;
  globalThis.tabOrder ??= new Map();
  if (!globalThis.tabOrder.has(element)) globalThis.tabOrder.set(element, globalThis.tabOrder.size);
  const texts = (ids) => ids.split(/\s+/u).map((id) => document.getElementById(id)?.textContent ?? '').join(' ');
  const labelled = element.getAttribute('aria-labelledby');
  const name = [
    element.getAttribute('aria-label'),
    labelled && texts(labelled),
    [...(element.labels ?? [])].map((label) => label.textContent).join(' '),
    element.textContent,
    element.getAttribute('title'),
  ].find((text) => text?.trim())?.trim() ?? '';

  const faults = [];
  if (!name) faults.push('has no name');
  if (element.tabIndex > 0) faults.push('jumps the order of the page');
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  if (box.width < 1 || box.height < 1 || style.visibility === 'hidden') faults.push('is not visible');
  if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) {
    faults.push('is outside the window');
  } else {
    // Long or tall things may reach beyond the window; look at the middle of what is inside it.
    const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
    const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
    const rects = [...element.getClientRects()];
    const points = [[x, y], ...rects.map((r) => [r.left + r.width / 2, r.top + r.height / 2])];
    const shown = points.some(([px, py]) => {
      const top = document.elementFromPoint(px, py);
      return top && (element.contains(top) || top.contains(element) || element.labels?.[0]?.contains(top));
    });
    if (!shown) faults.push('is covered by something else');
  }
  const ring = (s) => s.outlineStyle !== 'none' && Number.parseFloat(s.outlineWidth) > 0;
  const around = element.closest('label, form, tr');
  const ringed = [style, getComputedStyle(element, '::after'), around && getComputedStyle(around)];
  const lit = ringed.some((s) => s && ring(s));
  if (!lit) faults.push('shows no focus');

  const { tagName } = element;
  const key = `${globalThis.tabOrder.get(element)} <${tagName.toLowerCase()}> ${name.slice(0, 40)}`;
  return { tag: tagName, name, href: element.getAttribute('href'), key, faults };
}
