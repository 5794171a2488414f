/** Remedy of a failed request: retry, request less, or wait for an operator. */
export type FailureKind = 'passing' | 'slow' | 'tooLarge' | 'refused'

/**
 * A failed read of accounts from an upstream RPC. The message contains no secret, and names the
 * option to change.
 */
export class RpcReadFailure extends Error {
  override readonly name = 'RpcReadFailure'
  readonly kind: FailureKind
  /** Wait that the upstream requested. */
  readonly retryAfterMs: number | undefined
  /** The upstream's error, if it returned one. */
  code: number | undefined

  constructor(kind: FailureKind, message: string, retryAfterMs?: number) {
    super(message)
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }

  /** True if a request of fewer accounts may succeed. */
  get isSplittable(): boolean {
    return this.kind === 'tooLarge' || this.kind === 'slow'
  }
}

const MESSAGE_CHARS_MAX = 300

/** An upstream's text without secrets, shortened, on one line. */
export const scrub = (text: string, secrets: readonly string[]): string => {
  let clean = text
  for (const secret of secrets) if (secret !== '') clean = clean.replaceAll(secret, '[redacted]')
  return clean.replace(/[\p{Cc}\s]+/gu, ' ').slice(0, MESSAGE_CHARS_MAX)
}

/** Messages of providers for a request of too many accounts; there is no common code. */
const TOO_LARGE =
  /too (many|large|big)|exceed|narrow|deprioritized|scan (results|limit)|response size|add filters/i
const SLOW = /time(d)?[ -]?out|deadline/i

type RpcError = { readonly code: number; readonly message: string }

/** The upstream's error as a failure that names the option to change, if any. */
export const fromRpcError = (error: RpcError, method: string, what: string): RpcReadFailure => {
  const failure = toFailure(error, method, what)
  failure.code = error.code
  return failure
}

const toFailure = ({ code, message }: RpcError, method: string, what: string): RpcReadFailure => {
  const summary = `${method} for ${what}: the upstream answers ${code} ${message}`
  switch (code) {
    case -32016:
      return new RpcReadFailure(
        'passing',
        `${summary} (it has not reached the slot of the feed yet)`,
      )
    case -32005:
      return new RpcReadFailure('passing', `${summary} (its node is behind)`)
    case -32004:
      return new RpcReadFailure('passing', summary)
    case -32012:
      return new RpcReadFailure('tooLarge', summary)
    case -32010:
      return new RpcReadFailure(
        'refused',
        `${summary}; its node keeps this key out of its indexes: name single mints or accounts in ` +
          'networks.scope in place of the program, or another provider in networks.accountsRpc.endpoint',
      )
    case -32601:
      return new RpcReadFailure(
        'refused',
        `${summary}; ${
          method === 'getProgramAccountsV2'
            ? 'set networks.accountsRpc.isPaged = false'
            : 'name another provider in networks.accountsRpc.endpoint'
        }`,
      )
    default:
      if (code === 429) return new RpcReadFailure('passing', summary)
      if (TOO_LARGE.test(message)) return new RpcReadFailure('tooLarge', summary)
      if (SLOW.test(message)) return new RpcReadFailure('slow', summary)
      return code === -32603
        ? new RpcReadFailure('passing', summary)
        : new RpcReadFailure('refused', summary)
  }
}

/** A status other than 200 as a failure. */
export const fromStatus = (
  status: number,
  message: string,
  method: string,
  what: string,
  retryAfterMs: number | undefined,
): RpcReadFailure => {
  const text = message === '' ? '' : ` ${message}`
  const summary = `${method} for ${what}: the upstream answers HTTP ${status}${text}`
  if (status === 413) return new RpcReadFailure('tooLarge', summary)
  if (status === 408 || status === 504) return new RpcReadFailure('slow', summary, retryAfterMs)
  if (status === 429 || status >= 500) {
    const hint = status === 429 ? '; lower networks.accountsRpc.requestsPerSecondMax' : ''
    return new RpcReadFailure('passing', `${summary}${hint}`, retryAfterMs)
  }
  if (status === 401 || status === 403)
    return new RpcReadFailure(
      'refused',
      `${summary}; check networks.accountsRpc.credential, credentialIn and credentialName`,
    )
  if (TOO_LARGE.test(message)) return new RpcReadFailure('tooLarge', summary)
  return new RpcReadFailure('refused', `${summary}; check networks.accountsRpc.endpoint`)
}
