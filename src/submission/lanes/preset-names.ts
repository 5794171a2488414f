/** Senders over QUIC, each a row of presets.ts. */
export const QUIC_PRESETS = [
  'lunar-lander',
  'lunar-lander-one-way',
  'astralane',
  'soyas',
  'nextblock',
  'node1',
  'glaive',
  'falcon',
  'falcon-one-way',
  'bloxroute',
  'speedlanding',
  'solami',
  'tpu',
] as const
export type QuicPreset = (typeof QUIC_PRESETS)[number]

/** Senders with JSON of their own, each a row of json.ts. */
export const JSON_PRESETS = [
  'nextblock-http',
  'bloxroute-http',
  'flashblock',
  'blockrazor',
] as const
export type JsonPreset = (typeof JSON_PRESETS)[number]
