// Every page of the console, and where it is in the running world.

/** @type {{name: string, path: (world: any) => string, role?: string | null, status?: number}[]} */
const ALL = [
  { name: 'sign-in', path: () => '/sign-in', role: null },
  { name: 'sign-in, refused', path: () => '/sign-in?refused=credentials&email=a@b.test', role: null },
  { name: 'overview', path: () => '/' },
  { name: 'jobs', path: () => '/jobs' },
  { name: 'jobs, no match', path: () => '/jobs?state=failed&model=nobody' },
  { name: 'jobs, filter not understood', path: () => '/jobs?state=done' },
  { name: 'job', path: ({ shown }) => `/jobs/${shown.job}` },
  { name: 'job, blocked', path: ({ shown }) => `/jobs/${shown.blockedJob}` },
  { name: 'uncertain jobs', path: () => '/uncertain?hours=0' },
  { name: 'events', path: () => '/events' },
  { name: 'event', path: ({ shown }) => `/events/${shown.event}` },
  { name: 'event, contradicted', path: ({ shown }) => `/events/${shown.conflict}` },
  { name: 'event, to a viewer', path: ({ shown }) => `/events/${shown.event}`, role: 'viewer' },
  { name: 'deliveries', path: () => '/deliveries?outcome=rejected' },
  { name: 'settlements', path: () => '/settlements' },
  { name: 'settlement', path: ({ shown }) => `/settlements/${shown.settlement}` },
  { name: 'wallets', path: () => '/wallets' },
  { name: 'wallet', path: ({ shown }) => `/wallets/${shown.wallet}` },
  { name: 'form of an action', path: ({ shown }) => `/wallets/${shown.wallet}/goodwill` },
  {
    name: 'form of an action, refused',
    path: ({ shown }) => `/wallets/${shown.wallet}/goodwill?key=act_${'0'.repeat(32)}&amount=twelve&reason=short`,
  },
  { name: 'form of an action, to a viewer', path: ({ shown }) => `/wallets/${shown.wallet}/freeze`, role: 'viewer' },
  { name: 'form of a correction', path: ({ shown }) => `/jobs/${shown.job}/credit` },
  { name: 'approvals', path: () => '/approvals' },
  { name: 'action, to its maker', path: ({ shown }) => `/actions/${shown.action}` },
  { name: 'action, to its checker', path: ({ shown }) => `/actions/${shown.action}`, role: 'admin' },
  { name: 'exceptions', path: () => '/exceptions' },
  { name: 'reconciliation', path: () => '/reconciliation' },
  { name: 'sources', path: () => '/sources' },
  { name: 'prices', path: () => '/prices' },
  { name: 'thresholds', path: () => '/thresholds', role: 'admin' },
  { name: 'audit', path: () => '/audit' },
  { name: 'glossary', path: () => '/glossary' },
  { name: 'nothing here', path: () => '/no-such-page', status: 404 },
  { name: 'no such job', path: () => `/jobs/job_${'0'.repeat(32)}`, status: 404 },
];

export const PAGES = ALL.map((page) => ({ role: 'finance', status: 200, ...page }));
