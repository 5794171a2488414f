import type { HttpForm } from './http.js'
import type { LaneConfig } from './lane.js'
import type { JsonPreset } from './preset-names.js'

/** The call of a sender, with the base64 of a transaction. */
type ToCall = (transaction: string, isProtected: boolean) => object

/** Senders with JSON of their own, as the published client of each writes it. */
const PRESETS = {
  'nextblock-http': (content, isProtected) => ({
    transaction: { content },
    frontRunningProtection: isProtected,
  }),
  // Staked connections and protection exclude each other.
  'bloxroute-http': (content, isProtected) => ({
    transaction: { content },
    frontRunningProtection: isProtected,
    useStakedRPCs: !isProtected,
  }),
  blockrazor: (transaction, isProtected) => ({
    transaction,
    mode: isProtected ? 'sandwichMitigation' : 'fast',
    safeWindow: 3,
    revertProtection: false,
  }),
  flashblock: transaction => ({ transactions: [transaction] }),
} as const satisfies Readonly<Record<JsonPreset, ToCall>>

const callOf = (preset: string): ToCall | undefined =>
  Object.hasOwn(PRESETS, preset) ? PRESETS[preset as keyof typeof PRESETS] : undefined

export const isJsonPreset = (preset: string): boolean => callOf(preset) !== undefined

/** JSON that a sender takes in place of `sendTransaction`; answered as bytes are. */
export const jsonFormOf = ({ id, isProtected, preset }: LaneConfig): HttpForm => {
  const toCall = callOf(preset)
  if (toCall === undefined) throw new Error(`lane ${id} has no preset`)
  return {
    contentType: 'application/json',
    isBinary: true,
    toBody: ({ bytes }) =>
      Buffer.from(JSON.stringify(toCall(bytes.toString('base64'), isProtected))),
  }
}
