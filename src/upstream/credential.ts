import { REDACTED, type Secret } from '../shared/secret.js'
import { CredentialForms } from './credential-forms.js'
import type { Options } from './options.js'
import type { WireRequest } from './pool.js'
import type { UpstreamReply } from './reply.js'

/** The upstream does not know the service's key: its answer may be about the key. */
const UNAUTHORIZED = 401
const UNAUTHORIZED_BODY = Buffer.from(
  '{"error":{"message":"the upstream refused the request with status 401"}}',
)
const JSON_TYPE = 'application/json'

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

  /** The reply without the key. Its body must not change meanwhile. */
  async redact(reply: UpstreamReply): Promise<UpstreamReply> {
    const { status, body, contentType } = reply
    if (status === UNAUTHORIZED)
      return { ...reply, contentType: JSON_TYPE, body: UNAUTHORIZED_BODY }
    const [cutBody, cutType] = await Promise.all([
      this.forms.cutFrom(body, REDACTED),
      this.cutType(contentType),
    ])
    return { ...reply, body: cutBody, contentType: cutType }
  }

  private async cutType(contentType: string): Promise<string> {
    if (contentType === JSON_TYPE) return contentType
    return String(await this.forms.cutFrom(Buffer.from(contentType), REDACTED))
  }
}
