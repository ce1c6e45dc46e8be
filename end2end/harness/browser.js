// Which browser, and how it is started.

const QUIET = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Launch options of Playwright: the system's Chromium, talking to nobody but the server. */
export function launch() {
  return { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: QUIET };
}
