/** One way a request can fail. A row without `code` is a plain HTTP failure. */
export type Row = {
  readonly message: string
  readonly code?: number
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Where the text or rule comes from: a rule of docs/contract.md, a standard, Agave, or this
   * service.
   */
  readonly origin: string
}

/** Every failure that a client can see. All error objects are built from this table. */
// prettier-ignore
export const ERRORS = {
  parseError:        { code: -32700, message: 'Parse error', origin: 'JSON-RPC 2.0' },
  invalidRequest:    { code: -32600, message: 'Invalid request', origin: 'JSON-RPC 2.0' },
  unsupportedVersion: { code: -32600, message: 'Unsupported JSON-RPC protocol version', origin: 'Agave' },
  methodNotFound:    { code: -32601, message: 'Method not found', origin: 'JSON-RPC 2.0' },
  internal:          { code: -32603, message: 'Internal error', origin: 'JSON-RPC 2.0' },
  readTimeout:       { code: -32603, message: 'Read timed out after 30 seconds', origin: 'contract: read-timeout' },
  overloaded:        { code: -32603, message: 'Too many reads in flight; retry with backoff', headers: { 'Retry-After': '1' }, origin: 'contract: reply-budget' },
  checksOverloaded:  { code: -32603, message: 'Too many transaction checks in flight; retry with backoff', origin: 'Slotline' },
  outsideScope:      { code: -32603, message: 'account outside indexed scope', origin: 'Slotline' },
  batchTooLong:      { code: -32600, message: 'Batch holds more than {max} calls', origin: 'Slotline' },
  messageTooWide:    { code: -32600, message: 'Message holds more than {max} elements', origin: 'Slotline' },
  messageTooLong:    { code: -32600, message: 'Message holds more than {max} bytes beside its addresses', origin: 'Slotline' },
  batchReplyTooLong: { code: -32603, message: 'Batch reply holds more than {max} bytes', origin: 'Slotline' },
  noIndex:           { code: -32603, message: 'The index has no block yet', origin: 'Slotline' },
  indexIncomplete:   { code: -32603, message: 'The index is not complete yet', origin: 'contract: incomplete-index' },

  pubkeyDecode:      { code: -32602, message: 'Invalid param: could not decode pubkey {value}', origin: 'contract: pubkey-texts' },
  pubkeySize:        { code: -32602, message: 'Invalid param: WrongSize', origin: 'contract: pubkey-texts' },
  missingParam:      { code: -32602, message: 'Missing param at index {index}', origin: 'contract: positional-params' },
  wrongType:         { code: -32602, message: 'Invalid param at index {index}: invalid type: {type}, expected {expected}', origin: 'Slotline' },
  paramsNotArray:    { code: -32602, message: '`params` should be an array', origin: 'Agave' },
  paramCount:        { code: -32602, message: 'Invalid parameters: Expected from {min} to {max} parameters.', origin: 'Agave' },
  noParams:          { code: -32602, message: 'Invalid parameters: No parameters were expected', origin: 'Agave' },
  filterKeys:        { code: -32602, message: 'Invalid param at index 1: invalid value: map, expected map with a single key', origin: 'contract: owner-filter' },
  unsupportedEncoding: { code: -32602, message: 'unsupported encoding: {value}', origin: 'contract: account-encodings' },
  dataSlice:         { code: -32602, message: 'Invalid param: dataSlice must be {offset, length}', origin: 'Slotline' },
  limitNumber:       { code: -32602, message: 'Invalid param: limit must be a number', origin: 'contract: page-limit' },
  changedSinceSlot:  { code: -32602, message: 'Invalid param: changedSinceSlot must be a number', origin: 'Slotline' },
  filterShape:       { code: -32602, message: 'Invalid param: filter must be dataSize or memcmp', origin: 'contract: page-filters' },
  memcmpBytes:       { code: -32602, message: 'Invalid param: memcmp bytes ({encoding})', origin: 'contract: page-filters' },
  memcmpTooLarge:    { code: -32602, message: 'Invalid param: DataTooLarge', origin: 'Agave' },
  tokenProgramId:    { code: -32602, message: 'Error getting token program id and mint: Invalid param: unrecognized Token program id', origin: 'contract: owner-filter' },
  notTokenAccount:   { code: -32602, message: 'Invalid param: not a Token account', origin: 'contract: token-balance-and-supply' },
  notTokenMint:      { code: -32602, message: 'Invalid param: not a Token mint', origin: 'contract: token-balance-and-supply' },
  accountMissing:    { code: -32602, message: 'Invalid param: could not find account', origin: 'contract: token-balance-and-supply' },
  mintMissing:       { code: -32602, message: 'Invalid param: could not find mint', origin: 'Agave' },
  mintUnpack:        { code: -32602, message: 'Invalid param: Token mint could not be unpacked', origin: 'Agave' },
  base58TooLong:     { code: -32600, message: 'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.', origin: 'Agave' },
  blockhashDecode:   { code: -32602, message: 'Invalid', origin: 'Agave' },
  blockhashSize:     { code: -32602, message: 'WrongSize', origin: 'Agave' },
  nodeUnhealthy:     { code: -32005, message: 'Node is unhealthy', origin: 'Agave' },
  minContextSlot:    { code: -32016, message: 'Minimum context slot has not been reached', origin: 'contract: min-context-slot' },
  feesNotFollowed:   { code: -32603, message: 'The index has no fees: its feed brings no full transactions', origin: 'contract: fee-methods' },
  tooManyInputs:     { code: -32602, message: 'Too many inputs provided; max {max}', origin: 'Agave' },
  feePercentile:     { code: -32602, message: 'Percentile is too big; max value is 10000', origin: 'Triton' },
  feeOption:         { code: -32602, message: 'Invalid param: {name} must be {expected}', origin: 'contract: fee-methods' },
  feeTogether:       { code: -32602, message: 'Invalid param: {name} cannot be used with {others}', origin: 'contract: fee-methods' },
  feeTransaction:    { code: -32602, message: 'Invalid param: transaction could not be decoded', origin: 'contract: fee-methods' },
  overLimit:         { code: -32005, message: 'Too many requests', origin: 'Slotline' },
  batchOverLimit:    { code: -32005, message: 'Too many requests: at most {max} calls in a batch', origin: 'contract: over-limit' },
  limitIsNone:       { code: -32005, message: 'Too many requests: {limit} of this access is 0', origin: 'contract: over-limit' },
  rpcUnreachable:    { code: -32603, message: 'upstream RPC unreachable', origin: 'Slotline' },
  rpcNoResponse:     { code: -32603, message: 'upstream RPC did not answer; the outcome of the call is unknown', origin: 'Slotline' },
  rpcReadNoResponse: { code: -32603, message: 'upstream RPC did not answer', origin: 'Slotline' },
  rpcFull:           { code: -32603, message: 'Too many forwarded calls in flight; retry with backoff', origin: 'Slotline' },
  rpcRefused:        { code: -32603, message: 'upstream RPC refused the call with HTTP status {status}', origin: 'Slotline' },
  rpcCallTooLong:    { code: -32600, message: 'Forwarded call holds more than {max} bytes', origin: 'Slotline' },
  readBudget:        { code: -32003, message: 'Query exceeded the read budget; narrow the filters or use pagination', origin: 'contract: read-budget' },

  subscribeParam:    { code: -32602, message: 'Invalid Request: Invalid {what} provided', origin: 'Agave' },
  mentionsCount:     { code: -32602, message: 'Invalid Request: Only 1 address supported', origin: 'Agave' },
  filterCount:       { code: -32602, message: 'Invalid params: Too many filters provided; max {max}', origin: 'Agave' },
  logsFilter:        { code: -32602, message: 'Invalid param at index 0: expected `all`, `allWithVotes` or a map with `mentions`', origin: 'Slotline' },
  votesNotFollowed:  { code: -32602, message: 'Invalid param at index 0: votes are not followed here, so {what} is not served', origin: 'Slotline' },
  cursor:            { code: -32602, message: 'Invalid param: from must be the `cursor` of a notification of this method', origin: 'contract: resumed-subscriptions' },
  transactionsNotFollowed: { code: -32601, message: 'Method not found: the index does not keep whole transactions', origin: 'contract: transaction-subscriptions' },
  base58Version:     { code: -32602, message: 'base58 encoding is not supported with maxSupportedTransactionVersion >= 1', origin: 'Agave' },
  transactionOption: { code: -32602, message: 'Invalid param: {name} must be {expected}', origin: 'contract: transaction-subscriptions' },
  subscriptionId:    { code: -32602, message: 'Invalid subscription id.', origin: 'Agave' },
  nodeSubscriptions: { code: -32603, message: 'Internal Error: Subscription refused. Node subscription limit reached', origin: 'Agave' },
  socketSubscriptions: { code: -32603, message: 'Internal Error: Subscription refused. Connection subscription limit reached', origin: 'Slotline' },
  blockReads:        { code: -32603, message: 'Internal Error: Subscription refused. Limit of {max} subscriptions to fees and tips reached', origin: 'contract: fee-subscriptions' },
  subscriptionKeys:  { code: -32603, message: 'Internal Error: Subscription refused. Limit of {max} accounts in filters reached', origin: 'contract: transaction-subscriptions' },

  bundleTooLong:     { code: -32602, message: 'sendBundle transaction count exceeds {max}', origin: 'contract: relay-bundle-size' },
  bundleEmpty:       { code: -32602, message: 'sendBundle holds no transaction', origin: 'Slotline' },
  transactionBase64: { code: -32602, message: 'transaction {index} is not canonical padded base64', origin: 'Slotline' },
  transactionBase58: { code: -32602, message: 'transaction {index} is not base58', origin: 'Slotline' },
  transactionSize:   { code: -32602, message: 'transaction {index} exceeds {max} bytes', origin: 'Slotline' },
  transactionMalformed: { code: -32602, message: 'transaction {index} is malformed: {problem}', origin: 'Slotline' },
  transactionSignature: { code: -32602, message: 'transaction {index} signature verification failure', origin: 'Slotline' },
  tipMissing:        { code: -32602, message: 'Missing tip: no transfer to tip accounts found', origin: 'Slotline' },
  tipInsufficient:   { code: -32602, message: 'Insufficient tip: provided {provided} lamports, required {required} lamports', origin: 'Slotline' },
  submissionTooLong: { code: -32600, message: 'Submission holds more than {max} bytes', origin: 'Slotline' },
  landerUnauthorized: { code: -32603, message: 'the lander refused the credential of the service with HTTP status 401', origin: 'contract: lander-failures' },
  landerForbidden:   { code: -32603, message: 'the lander refused the call with HTTP status 403', origin: 'contract: lander-failures' },
  landerRefused:     { code: -32603, message: 'the lander refused the transaction with HTTP status {status}', origin: 'contract: send-failures' },
  landerFull:        { code: -32010, message: 'Lander capacity exhausted', headers: { 'Retry-After': '1' }, origin: 'contract: send-failures' },
  noLane:            { code: -32602, message: 'no lane can carry the transaction', origin: 'contract: race-failures' },
  lanesRefused:      { code: -32603, message: 'every lane that answered refused the transaction', origin: 'contract: race-failures' },
  lanesFull:         { code: -32010, message: 'Lane capacity exhausted', headers: { 'Retry-After': '1' }, origin: 'contract: race-failures' },
  submissionAnswer:  { code: -32603, message: 'the answer with HTTP status {status} is not a reply to this call; the submission may have landed', origin: 'Slotline' },
  upstreamUnreachable: { code: -32603, message: 'upstream unreachable', origin: 'Slotline' },
  upstreamFull:      { code: -32603, message: 'Too many submissions in flight; retry with backoff', headers: { 'Retry-After': '1' }, origin: 'Slotline' },
  outcomeUnknown:    { code: -32603, message: 'submission outcome unknown', origin: 'Slotline' },
  bundleOptions:     { code: -32602, message: 'params[1] must be exactly {options}', origin: 'Slotline' },
  transactionTwice:  { code: -32602, message: 'transactions {first} and {second} are the same', origin: 'Slotline' },
  noQualifyingMember: { code: -32602, message: 'one bundle member must pay at least the service tip floor ({service} lamports) and the bundle-engine tip floor ({engine} lamports) and include an application instruction with a writable static account', origin: 'contract: relay-qualifying-member' },
  bundleIdCount:     { code: -32602, message: 'bundle id count must be from 1 to {max}', origin: 'Slotline' },
  bundleIdShape:     { code: -32602, message: 'bundle id {index} must be 64 hexadecimal characters', origin: 'Slotline' },
  bundleIdTwice:     { code: -32602, message: 'bundle ids {first} and {second} are the same', origin: 'Slotline' },
  submissionIdShape: { code: -32602, message: 'Invalid param: not a submission id', origin: 'Slotline' },
  submissionKey:     { code: -32602, message: 'Invalid param: neither a submission id nor a signature', origin: 'contract: submission-reads' },
  submissionFilter:  { code: -32602, message: 'Invalid param: {name} must be {expected}', origin: 'contract: submission-reads' },
  engineFull:        { code: -32010, message: 'Bundle-engine capacity exhausted', headers: { 'Retry-After': '1' }, origin: 'contract: relay-capacity' },
  engineRefused:     { code: -32603, message: 'bundle engine refused the request with HTTP status {status}', origin: 'Slotline' },
  engineNoResponse:  { code: -32603, message: 'bundle engine did not answer', origin: 'Slotline' },

  badRequest:        { status: 400, message: 'Bad request', origin: 'HTTP' },
  queryValue:        { status: 400, message: 'Query parameter {name} must be {expected}', origin: 'Slotline' },
  tlsRequired:       { status: 400, message: 'This port speaks TLS: https:// and wss:// are required', origin: 'HTTP' },
  unauthorized:      { status: 401, message: 'Unauthorized', origin: 'contract: refused-requests' },
  forbidden:         { status: 403, message: 'Forbidden', origin: 'contract: refused-requests' },
  notFound:          { status: 404, message: 'Not found', origin: 'HTTP' },
  methodNotAllowed:  { status: 405, message: 'Method not allowed', headers: { Allow: 'POST, OPTIONS' }, origin: 'HTTP' },
  bodyTooLarge:      { status: 413, message: 'Body exceeds {max} bytes', origin: 'HTTP' },
  urlTooLong:        { status: 414, message: 'The path and query exceed 8192 bytes', origin: 'HTTP' },
  contentType:       { status: 415, message: 'Content-Type: {type} is required', origin: 'HTTP' },
  headTooLarge:      { status: 431, message: 'The head of the request exceeds 16384 bytes', origin: 'HTTP' },
  versionUnsupported: { status: 505, message: 'HTTP/1.1 is required', origin: 'HTTP' },
  upgradeVersion:    { status: 426, message: 'WebSocket version 13 is required', headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' }, origin: 'RFC 6455 §4.2.2' },
  tooManyRequests:   { status: 429, message: 'Too many requests', origin: 'contract: over-limit' },
  batchTooManyRequests: { status: 429, message: 'Too many requests: at most {max} calls in a batch', origin: 'contract: over-limit' },
  noRequests:        { status: 429, message: 'Too many requests: {limit} of this access is 0', origin: 'contract: over-limit' },
  tooManyAttempts:   { status: 429, message: 'Too many attempts; try again in {seconds} s', origin: 'Slotline' },
  leaseExpired:      { status: 503, message: 'This machine cannot confirm that its access data is current', headers: { 'Retry-After': '1' }, origin: 'contract: lease' },
  noSuchAccess:      { status: 404, message: 'No such access', origin: 'Slotline' },
  notOffered:        { status: 404, message: 'The access does not offer this {what}', origin: 'Slotline' },
  accessEnded:       { status: 403, message: 'The access has ended', origin: 'Slotline' },
  accessUpcoming:    { status: 403, message: 'The access has not begun', origin: 'Slotline' },
  noSuchProduct:     { status: 422, message: 'There is no product {id}', origin: 'Slotline' },
  notInProduct:      { status: 422, message: 'The product does not offer the {what} {id}', origin: 'Slotline' },
  nothingGranted:    { status: 422, message: 'An access needs at least one {what}', origin: 'Slotline' },
  endPassed:         { status: 422, message: 'The end must lie after the begin and in the future', origin: 'Slotline' },
  noToken:           { status: 404, message: 'This location has no token', origin: 'contract: token-lifecycle' },
  notPublicIpv4:     { status: 422, message: 'Not one public IPv4 address: {problem}', origin: 'contract: ip-restriction' },
  notConfirmed:      { status: 503, message: 'The change is stored, but not every edge has confirmed it yet; retry the request', origin: 'Slotline' },
  changeUnknown:     { status: 503, message: 'etcd did not confirm the change, and whether it was made is not known; retry the request', origin: 'Slotline' },
  clusterBroken:     { status: 503, message: 'The cluster is broken, because etcd has lost changes: nothing was changed, and no machine answers until the operator has run slotline cluster rebuild', origin: 'Slotline' },
  notInCluster:      { status: 503, message: 'This machine is not in the cluster that etcd has; nothing was changed, and slotline status says why', origin: 'Slotline' },
  etcdSilent:        { status: 503, message: 'etcd does not answer; nothing was changed, retry the request', origin: 'Slotline' },
  accessBusy:        { status: 409, message: 'Other changes of this access came first; nothing was changed, retry', origin: 'Slotline' },
  changeDenied:      { status: 503, message: 'This machine may not change accesses: it was added without --control', origin: 'Slotline' },
  accessTooLong:     { status: 422, message: 'The access with its tokens holds more than {max} bytes', origin: 'Slotline' },
  noWebhook:         { status: 404, message: 'This access has no such webhook', origin: 'Slotline' },
  webhooksFull:      { status: 409, message: 'This access has {max} webhooks: remove one first', origin: 'Slotline' },
  noAlertRule:       { status: 404, message: 'This access has no such alert rule', origin: 'Slotline' },
  tokenActive:       { status: 409, message: 'This location already has a token', origin: 'contract: token-lifecycle' },
  signedOut:         { status: 401, message: 'Sign in first', origin: 'Slotline' },
  signInTooOld:      { status: 403, message: 'Sign in again first: this needs a sign-in of the last {minutes} min', origin: 'Slotline' },
  notOperator:       { status: 403, message: 'Only operators of the service may see this', origin: 'Slotline' },
  noSuchSession:     { status: 404, message: 'No such session', origin: 'Slotline' },
  adminToken:        { status: 401, message: 'The admin token is missing or wrong', headers: { 'WWW-Authenticate': 'Bearer' }, origin: 'Slotline' },
  adminRole:         { status: 403, message: 'This admin token has the role {role}, and the request needs {needed}', origin: 'Slotline' },
  noSuchAdminToken:  { status: 404, message: 'No such admin token', origin: 'Slotline' },
  adminTokenExists:  { status: 409, message: 'There is an admin token with this name: end it first, or choose another name', origin: 'Slotline' },
  adminTokensFull:   { status: 409, message: 'There are {max} admin tokens: end one first', origin: 'Slotline' },
  apiKey:            { status: 401, message: 'The API key is unknown, or has ended', headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' }, origin: 'RFC 6750 §3.1' },
  apiKeyScope:       { status: 403, message: 'This needs an API key with the scope {needed}', headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' }, origin: 'RFC 6750 §3.1' },
  apiKeyRoute:       { status: 403, message: 'This cannot be done with an API key: sign in at the dashboard', origin: 'Slotline' },
  noSuchApiKey:      { status: 404, message: 'This access has no such API key', origin: 'Slotline' },
  apiKeysFull:       { status: 409, message: 'This access has {max} API keys: revoke one first', origin: 'Slotline' },
  apiKeyEnd:         { status: 422, message: 'An API key ends within {max} days', origin: 'Slotline' },
  accessRole:        { status: 403, message: 'Your role in this access is {role}, and this needs {needed}', origin: 'Slotline' },
  memberExists:      { status: 409, message: 'This address is a member already: change its role instead', origin: 'Slotline' },
  memberIsOwner:     { status: 409, message: 'This is your own address: the owner is no member', origin: 'Slotline' },
  membersFull:       { status: 409, message: 'This access has {max} members: remove one first', origin: 'Slotline' },
  noSuchMember:      { status: 404, message: 'This access has no such member', origin: 'Slotline' },
  metricsIncomplete: { status: 503, message: 'A machine of the cluster did not answer, and counters must not fall; scrape again', headers: { 'Retry-After': '1' }, origin: 'Slotline' },
  crossOrigin:       { status: 403, message: 'A change must come from the dashboard itself: header x-slotline and its own Origin', origin: 'Slotline' },
  wrongInput:        { status: 400, message: '{field} {problem}', origin: 'Slotline' },
  sealingKey:        { status: 503, message: 'Tokens cannot be generated or revealed: the operator must restore the key that encrypts them', origin: 'Slotline' },
  resealInCluster:   { status: 409, message: 'A machine of a cluster does not replace its sealing key, which all machines share: docs/cluster.md says how', origin: 'Slotline' },
  pageMissing:       { status: 503, message: 'The page is not built; run: npm run build:page', origin: 'Slotline' },
  failed:            { status: 500, message: 'Something went wrong; the log of the service says what', origin: 'Slotline' },
  noLander:          { status: 404, message: 'This network has no lander', origin: 'Slotline' },
  noLanes:           { status: 404, message: 'This network has no lanes', origin: 'Slotline' },
  noRelay:           { status: 404, message: 'This network has no bundle engine for this route', origin: 'Slotline' },
  noSender:          { status: 503, message: 'Submissions are not taken at this moment; nothing was sent', headers: { 'Retry-After': '1' }, origin: 'Slotline' },
  unavailable:       { status: 503, message: 'Too many concurrent requests or unsent replies', headers: { 'Retry-After': '1' }, origin: 'Slotline' },
} as const satisfies Record<string, Row>

export type ErrorName = keyof typeof ERRORS

type Field<M extends string> = M extends `${string}{${infer F}}${infer Rest}`
  ? F extends `${string},${string}`
    ? Field<Rest>
    : F | Field<Rest>
  : never
type Fields<N extends ErrorName> = Field<(typeof ERRORS)[N]['message']>
type Args<N extends ErrorName> = [Fields<N>] extends [never]
  ? [fields?: undefined, data?: unknown]
  : [fields: Readonly<Record<Fields<N>, string | number>>, data?: unknown]

const fill = (
  message: string,
  fields: Readonly<Record<string, string | number>> | undefined,
): string =>
  fields === undefined
    ? message
    : message.replace(/\{(\w+)\}/g, (whole, name: string) => String(fields[name] ?? whole))

/** The fields that repeat what the client sent. */
const ECHOES = { value: '…', type: '…' } as const

/**
 * A failure that is reported to the client. Anything else that is thrown is a bug, and answered
 * with `internal`.
 */
export class RpcError<N extends ErrorName = ErrorName> extends Error {
  readonly row: Row
  /** JSON-RPC `error.data`, where the error has one. */
  readonly data: unknown
  override readonly name: N
  private readonly fields: Readonly<Record<string, string | number>> | undefined

  constructor(name: N, ...[fields, data]: Args<N>) {
    // An answer, which anyone can ask for: a stack would take 7 µs, and is never read.
    const message = fill(ERRORS[name].message, fields)
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = name
    this.row = ERRORS[name]
    this.data = data
    this.fields = fields
  }

  /** The message without what the client sent. */
  get ownMessage(): string {
    return fill(this.row.message, { ...this.fields, ...ECHOES })
  }
}

/** The `error` of an upstream's JSON-RPC answer. */
export type AnswerError = {
  /** 0 where it has no whole number of 32 bits. */
  readonly code: number
  /** The beginning of its message; empty if it has none. */
  readonly message: string
}

/** Why a call failed: an error of the service, or one that an upstream answered. */
export type CallError = RpcError | AnswerError
