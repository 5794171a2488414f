/** Badge and name of each state of a machine or a location. */
export const HEALTHS: Readonly<Record<string, readonly [tone: string, name: string]>> = {
  ok: ['is-active', 'Serving'],
  behind: ['is-upcoming', 'Behind'],
  incomplete: ['is-upcoming', 'Index incomplete'],
  draining: ['is-upcoming', 'Restarting'],
  'lease-expired': ['is-ended', 'Lease expired'],
  broken: ['is-ended', 'Cluster broken'],
  unreachable: ['is-ended', 'Not reachable'],
  'not-started': ['is-none', 'Not started'],
}
