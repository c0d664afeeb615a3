// Line icons, drawn here so that the page needs nothing from elsewhere.

const paths: Record<string, string> = {
  play: '<path d="M8 5.5v13l10.5-6.5z" fill="currentColor"/>',
  pause: '<path d="M8 5.5v13M16 5.5v13" stroke-width="3"/>',
  // One frame: hollow, and the bar on the side that is left, so that neither looks like playing or going to an end.
  back: '<path d="M14 6.500v11L6 12z"/><path d="M18.500 6.500v11"/>',
  forward: '<path d="M10 6.500v11L18 12z"/><path d="M5.500 6.500v11"/>',
  first: '<path d="M17.5 6v12l-8.5-6z" fill="currentColor"/><path d="M6.5 6v12"/>',
  loop: '<path d="M17 3l3 3-3 3"/><path d="M4 11V9.500a3.500 3.500 0 0 1 3.500-3.500H20M7 21l-3-3 3-3"/><path d="M20 13v1.500a3.500 3.500 0 0 1-3.500 3.500H4"/>',
  reset: '<path d="M5 12a7 7 0 1 0 2.300-5.200"/><path d="M4 4v4.500h4.500"/>',
  home: '<path d="M4 9V5.500A1.500 1.500 0 0 1 5.500 4H9M15 4h3.500A1.500 1.500 0 0 1 20 5.500V9M20 15v3.500a1.500 1.500 0 0 1-1.500 1.500H15M9 20H5.500A1.500 1.500 0 0 1 4 18.500V15"/><circle cx="12" cy="12" r="2.500"/>',
  shapes: '<path d="M12 3l8 4.500v9L12 21l-8-4.500v-9z"/><path d="M4 7.500l8 4.500 8-4.500M12 12v9"/>',
  contacts:
    '<path d="M3 16.500h18"/><circle cx="12" cy="9.500" r="7"/><circle cx="12" cy="16.500" r="2.300" fill="currentColor" stroke="none"/>',
  forces: '<path d="M12 20V5M6.500 10L12 4.500 17.500 10"/><path d="M5 20h14"/>',
  cones: '<path d="M12 20L5 7M12 20l7-13"/><ellipse cx="12" cy="6.500" rx="7" ry="2.600"/>',
  com: '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 8 8h-8zM12 20a8 8 0 0 1-8-8h8z" fill="currentColor"/>',
  frames:
    '<path d="M9 15V4M9 15h11M9 15l-5.500 5.500"/><path d="M6.500 6.500L9 4l2.500 2.500M17.500 12.500L20 15l-2.500 2.500"/>',
  inside: '<circle cx="10.500" cy="10.500" r="6.500"/><path d="M15.500 15.500L21 21M8 10.500h5M10.500 8v5"/>',
  plots: '<path d="M4 4v16h16"/><path d="M7.500 15l3.500-5 3.500 3L20 6"/>',
  panel: '<path d="M4 7h9M19 7h1M4 17h1M11 17h9"/><circle cx="16" cy="7" r="2.500"/><circle cx="8" cy="17" r="2.500"/>',
  help: '<circle cx="12" cy="12" r="8.500"/><path d="M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.3-1 .8-1 1.700"/><circle cx="12" cy="16.700" r=".6" fill="currentColor"/>',
  drag: '<path d="M8 13V6.500a1.500 1.500 0 0 1 3 0V11M11 11V5a1.500 1.500 0 0 1 3 0v6M14 11V6.500a1.500 1.500 0 0 1 3 0V14c0 4-2 6.500-5.500 6.500-3 0-4.200-1.500-6-5l-1-2a1.500 1.500 0 0 1 2.500-1.500l1 1.500"/>',
  close: '<path d="M6 6l12 12M18 6L6 18"/>',
  camera: '<path d="M4 8h3.500L9 5.500h6L16.500 8H20v11H4z"/><circle cx="12" cy="13" r="3.500"/>',
};

export function icon(name: string): string {
  return `<svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${paths[name] ?? ''}</svg>`;
}
