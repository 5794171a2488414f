import { createSecretForms, type SecretForms } from '../native/upstream/answer.js'

/** Shorter secrets have encoded forms that occur by chance. */
const ENCODED_CHARS_MIN = 8

/** The part of a text's base64 that is the same whatever is before and behind the text. */
const base64Core = (secret: Buffer, before: number): string => {
  const padded = Buffer.concat([Buffer.alloc(before), secret])
  const first = Math.ceil((before * 4) / 3)
  const last = Math.floor((padded.length * 4) / 3)
  return padded.toString('base64').slice(first, last)
}

const encodedForms = (secret: string): string[] => {
  const bytes = Buffer.from(secret)
  if (bytes.length < ENCODED_CHARS_MIN) return []
  const base64 = [0, 1, 2].map(before => base64Core(bytes, before))
  const url = base64.map(form => form.replaceAll('+', '-').replaceAll('/', '_'))
  return [...base64, ...url, bytes.toString('hex')]
}

/** Finds a secret in what a server sends, in every form in which it may repeat its input. */
export class CredentialForms {
  private readonly forms: SecretForms | undefined

  constructor(secret: string) {
    if (secret === '') return
    // A secret that contains what looks like an escape is found as these.
    const exact = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]
    this.forms = createSecretForms(
      [...new Set(exact)],
      [...new Set([secret, ...encodedForms(secret)])],
    )
  }

  /**
   * The bytes without the secret; the same object where they do not contain it. They must not
   * change before that is known.
   */
  async cutFrom(bytes: Buffer, replacement: string): Promise<Buffer> {
    const found = await this.forms?.find(bytes)
    if (found === undefined || found.length === 0) return bytes
    const between = Buffer.from(replacement)
    const parts: Buffer[] = []
    let from = 0
    for (let at = 0; at < found.length; at += 2) {
      parts.push(bytes.subarray(from, found[at]), between)
      from = found[at + 1] ?? bytes.length
    }
    return Buffer.concat([...parts, bytes.subarray(from)])
  }
}
