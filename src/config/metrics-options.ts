/** Where the metrics of all processes are served, at `/metrics`. */
export const defaults = {
  /** Loopback: the page has no authentication. */
  host: '127.0.0.1',
  /** The first port that Prometheus keeps for exporters without one of their own. */
  port: 9_464,
}
