/** What tests ask a page, in the browser: each function runs there by itself, so it may use nothing from around it. */

export interface Reading {
  readonly text: string;
  readonly color: string;
  readonly background: string;
  readonly ratio: number;
}

/** Contrast (WCAG 2) of every text that can be seen, by the colours that the browser computed. */
export const contrasts = (): readonly Reading[] => {
  type Color = readonly [number, number, number, number];
  const parse = (css: string): Color => {
    const found = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(css);
    if (!found) throw new Error(`unknown colour ${css}`);
    const [red = 0, green = 0, blue = 0, alpha = 1] = found.slice(1).map((each) => (each ? Number(each) : 1));
    return [red, green, blue, alpha];
  };
  const over = (top: Color, below: Color): Color => {
    const mix = (at: 0 | 1 | 2): number => top[at] * top[3] + below[at] * (1 - top[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const known = new Map<Element, Color>();
  const backgroundOf = (element: Element | null): Color => {
    if (!element) return [255, 255, 255, 1];
    const own = known.get(element) ?? parse(getComputedStyle(element).backgroundColor);
    const color = own[3] === 1 ? own : over(own, backgroundOf(element.parentElement));
    known.set(element, color);
    return color;
  };
  const luminance = (color: Color): number => {
    const [red = 0, green = 0, blue = 0] = color.slice(0, 3).map((each) => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const read = new Map<string, Reading>();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.nodeValue?.trim() ?? '';
    if (!element?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || text === '')
      continue;
    const background = backgroundOf(element);
    const color = over(parse(getComputedStyle(element).color), background);
    const [lighter = 0, darker = 0] = [luminance(color), luminance(background)].sort((a, b) => b - a);
    const ratio = (lighter + 0.05) / (darker + 0.05);
    const key = `${color.join()} ${background.join()}`;
    if (!read.has(key)) read.set(key, { text, color: color.join(), background: background.join(), ratio });
  }
  return [...read.values()];
};

export interface Fit {
  /** By how many pixels the page is wider than the screen. */
  readonly sideways: number;
  /** Classes of the regions that scroll sideways. */
  readonly regions: readonly string[];
  /** Texts that are cut, or that are where nobody can scroll to. */
  readonly clipped: readonly string[];
}

/** Whether the page fits its width. On paper nothing scrolls: there every text must be on the sheet. */
export const fit = (isPaper: boolean): Fit => {
  const root = document.documentElement;
  const regions = new Set<string>();
  const clipped: string[] = [];
  for (const element of document.body.querySelectorAll('*')) {
    if (!(element instanceof HTMLElement) || !element.checkVisibility()) continue;
    const { overflowX, display, textOverflow } = getComputedStyle(element);
    const isWider = element.scrollWidth > element.clientWidth + 1 && display !== 'inline';
    if (isWider && overflowX !== 'visible' && !isPaper && overflowX === 'auto')
      regions.add(element.className);
    else if (isWider && overflowX !== 'visible') clipped.push(`${element.tagName} ${element.innerText}`);
    if (textOverflow !== 'clip') clipped.push(`${element.tagName} ${textOverflow}`);
  }
  const range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!element?.checkVisibility() || node.nodeValue?.trim() === '') continue;
    // What a region scrolls to is not lost; what waits at the left for the keyboard is meant to.
    if (element.closest('.skip') || (!isPaper && element.closest('.wide'))) continue;
    range.selectNodeContents(node);
    const { left, right } = range.getBoundingClientRect();
    if (left < 0 || right > root.clientWidth + 1) clipped.push(`${element.tagName} ${node.nodeValue ?? ''}`);
  }
  return { sideways: root.scrollWidth - root.clientWidth, regions: [...regions], clipped };
};

export interface Stop {
  /** Which of `stops` has the focus; -1: none of them. */
  readonly at: number;
  /** Pixels of the outline that the browser draws. */
  readonly outline: number;
  readonly isOnScreen: boolean;
}

/** Everything that the keyboard must reach, in the order of the page. */
export const stops = (): readonly string[] =>
  [...document.querySelectorAll('a, summary, .wide')]
    .filter((each) => each.checkVisibility())
    .map((each) => `${each.tagName}.${each.className} ${each.textContent.slice(0, 40)}`);

/** What has the focus now. */
export const focused = (): Stop => {
  const all = [...document.querySelectorAll('a, summary, .wide')].filter((each) => each.checkVisibility());
  const active = document.activeElement ?? document.body;
  const { outlineStyle, outlineWidth } = getComputedStyle(active);
  const { top, bottom, left, right } = active.getBoundingClientRect();
  return {
    at: all.indexOf(active),
    outline: outlineStyle === 'none' ? 0 : parseFloat(outlineWidth),
    isOnScreen: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
  };
};

/** Of each timeline its bars: how much of the line each takes, and the date that it tells of. */
export const bars = (): readonly (readonly { readonly share: number; readonly until: string }[])[] =>
  [...document.querySelectorAll('section')].map((section) =>
    [...section.querySelectorAll('tr:has(rect)')].map((row) => {
      const widthOf = (selector: string): number =>
        row.querySelector(selector)?.getBoundingClientRect().width ?? NaN;
      return {
        share: widthOf('rect') / widthOf('svg'),
        until: row.querySelector('time')?.dateTime ?? '',
      };
    }),
  );

/** Opens all that can be opened. */
export const openAll = (): void => {
  for (const each of document.querySelectorAll('details')) each.open = true;
};

/** Elements that a selector finds and that can be seen, of all that it finds. */
export const shown = (selector: string): { readonly visible: number; readonly all: number } => {
  const all = [...document.querySelectorAll(selector)];
  const isShown = (each: Element): boolean =>
    each.checkVisibility({ visibilityProperty: true }) && each.getClientRects().length > 0;
  return { visible: all.filter(isShown).length, all: all.length };
};
