import { explainValue, port, type Leaf } from '../../config/validators/options-schema.js'
import * as valid from '../../config/validators/validators.js'

const CHECKS: Readonly<Record<string, Leaf<string>>> = {
  network: valid.id,
  feed: valid.endpoint,
  program: valid.pubkey,
  rpc: valid.base,
  lander: valid.base,
  'lander-tip': valid.pubkey,
  relay: valid.base,
  'relay-tip': valid.pubkey,
  'relay-bundle': valid.base,
  'relay-bundle-tip': valid.pubkey,
  'service-tip': valid.pubkey,
  location: valid.id,
  'public-url': valid.origin,
  product: valid.id,
  issuer: valid.privateBase,
  'dashboard-url': valid.privateOrigin,
}

/** What an answer must be, if it is not; undefined if it is valid. */
export const explainAnswer = (name: string, words: readonly string[]): string | undefined => {
  for (const word of words) {
    // A variable of the environment has the value only when the service starts.
    if (word.startsWith('$')) continue
    const check = CHECKS[name]
    const wrong =
      name === 'port'
        ? explainValue(port, Number(word))
        : check === undefined
          ? undefined
          : explainValue(check, word)
    if (wrong !== undefined) return `must be ${wrong}, but is ${JSON.stringify(word)}`
  }
  return undefined
}
