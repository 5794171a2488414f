import { REDACTED, type Secret } from '../shared/secret.js'
import type { Options } from './options.js'
import type { WireRequest } from './pool.js'
import type { UpstreamReply } from './reply.js'

/** The service's own key at an upstream: added to every request, removed from every reply. */
export class Credential {
  private readonly secret: string
  private readonly isInQuery: boolean
  private readonly name: string
  /** What a server that repeats its input would send back. */
  private readonly forms: readonly string[]

  constructor(
    secret: Secret | undefined,
    options: Pick<Options, 'credentialIn' | 'credentialName'>,
  ) {
    this.secret = secret?.reveal() ?? ''
    this.isInQuery = options.credentialIn === 'query'
    this.name = options.credentialName
    const forms = new Set([this.secret, encodeURIComponent(this.secret)])
    this.forms = this.secret === '' ? [] : [...forms]
  }

  addTo(request: WireRequest): WireRequest {
    const { path, headers } = request
    if (this.secret === '') return request
    if (!this.isInQuery) return { ...request, headers: { ...headers, [this.name]: this.secret } }
    const query = `${encodeURIComponent(this.name)}=${encodeURIComponent(this.secret)}`
    return { ...request, path: `${path}${path.includes('?') ? '&' : '?'}${query}` }
  }

  redact(reply: UpstreamReply): UpstreamReply {
    const { body, contentType } = reply
    if (!this.forms.some(form => body.includes(form) || contentType.includes(form))) return reply
    const redacted = (text: string): string =>
      this.forms.reduce((cleaned, form) => cleaned.replaceAll(form, REDACTED), text)
    // latin1 preserves all other bytes.
    const cleaned = Buffer.from(redacted(body.toString('latin1')), 'latin1')
    return { ...reply, body: cleaned, contentType: redacted(contentType) }
  }
}
