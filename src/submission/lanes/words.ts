import { CredentialForms } from '../../upstream/credential-forms.js'
import { REDACTED } from '../../shared/secret.js'
import { WORDS_CHARS_MAX } from './lane.js'

/** Shorter parts of a URL are no keys. */
const KEY_CHARS_MIN = 8

/** Parts of a URL that may be keys: segments of its path, and values of its query. */
const keysIn = (url: URL): readonly string[] =>
  [...url.pathname.split('/'), ...url.searchParams.values()].filter(
    part => part.length >= KEY_CHARS_MIN,
  )

/** Shortens what a peer said, and removes every key of the service from it. */
export type ToWords = (said: string) => Promise<string>

/** Longer texts are cut before they are searched: half a key says little. */
const SEARCHED_CHARS_MAX = 4_096

/** Of a lane with this credential and URL. */
export const createToWords = (credential: string | undefined, url: URL): ToWords => {
  // A UUID that went out as its bytes may come back without its hyphens.
  const written = credential === undefined ? [] : [credential, credential.replaceAll('-', '')]
  const keys = new Set([...written, ...keysIn(url)])
  const forms = [...keys].map(key => new CredentialForms(key))
  return async said => {
    let bytes: Buffer = Buffer.from(said.slice(0, SEARCHED_CHARS_MAX))
    // oxlint-disable-next-line no-await-in-loop
    for (const form of forms) bytes = await form.cutFrom(bytes, REDACTED)
    return bytes.toString().trim().slice(0, WORDS_CHARS_MAX)
  }
}
