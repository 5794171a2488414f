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
})

export type Ports = ReturnType<typeof portsFrom>
