import { REDACTED, type Secret } from '../shared/secret.js'
import { CredentialForms } from './credential-forms.js'
import type { Options } from './options.js'
import type { WireRequest } from './pool.js'
import type { UpstreamReply } from './reply.js'

/** The upstream refused the service's key: its answer may be about the key. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([401, 403])
const JSON_TYPE = 'application/json'

const refusedBody = (status: number): Buffer =>
  Buffer.from(`{"error":{"message":"the upstream refused the request with status ${status}"}}`)

/** The service's own key at an upstream: added to every request, removed from every reply. */
export class Credential {
  private readonly secret: string
  private readonly isInQuery: boolean
  private readonly name: string
  private readonly forms: CredentialForms

  constructor(
    secret: Secret | undefined,
    options: Pick<Options, 'credentialIn' | 'credentialName'>,
  ) {
    this.secret = secret?.reveal() ?? ''
    this.isInQuery = options.credentialIn === 'query'
    this.name = options.credentialName
    this.forms = new CredentialForms(this.secret)
  }

  addTo(request: WireRequest): WireRequest {
    const { path, headers } = request
    if (this.secret === '') return request
    if (!this.isInQuery) return { ...request, headers: { ...headers, [this.name]: this.secret } }
    const query = `${encodeURIComponent(this.name)}=${encodeURIComponent(this.secret)}`
    return { ...request, path: `${path}${path.includes('?') ? '&' : '?'}${query}` }
  }

  redact(reply: UpstreamReply): UpstreamReply {
    const { status, body, contentType } = reply
    if (REFUSED_STATUSES.has(status))
      return { ...reply, contentType: JSON_TYPE, body: refusedBody(status) }
    const { forms } = this
    return {
      ...reply,
      body: forms.cutFrom(body, REDACTED),
      contentType: forms.cut(contentType, REDACTED),
    }
  }
}
