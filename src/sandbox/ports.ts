/** Ports of the sandbox, counted from `--port`. */
export const portsFrom = (first: number) => ({
  fra: first,
  nyc: first + 2,
  dashboard: first + 4,
  metrics: first + 5,
  geyser: first + 6,
  rpc: first + 7,
  lander: first + 8,
  bundleEngine: first + 9,
  identity: first + 10,
  /** Of UDP: the dev lander, as senders whose clients speak QUIC. */
  quic: {
    'lunar-lander': first + 8,
    node1: first + 6,
    nextblock: first + 7,
    glaive: first + 9,
    falcon: first + 10,
  },
  /** Of a deployment of one machine: etcd and the other ones use those from here on. */
  fraGrpc: first + 11,
  nycGrpc: first + 12,
})

export type Ports = ReturnType<typeof portsFrom>
