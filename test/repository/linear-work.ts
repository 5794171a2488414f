import t from 'tap'
import { foldEmail } from '../../src/access/members/members.js'
import { parseRestriction } from '../../src/access/tokens/restriction.js'
import { isTokenShaped } from '../../src/access/tokens/location-token.js'
import { toBrowserName } from '../../src/dashboard/auth/browser-name.js'
import { createCookies } from '../../src/dashboard/http/cookies.js'
import { wantsPage } from '../../src/dashboard/http/error-page.js'
import { headerToken, submissionToken } from '../../src/edge/admission.js'
import { fromStatus, scrub } from '../../src/ingest/accounts-rpc/failure.js'
import { createSecretForms, findAnswerError } from '../../src/native/upstream/answer.js'
import { rawElements } from '../../src/rpc/raw-elements.js'
import { HttpRequest } from '../../src/server/compiled/request.js'
import { createProxies } from '../../src/server/http/address.js'
import { isAccepted } from '../../src/server/http/content-type.js'
import { scanHeaders } from '../../src/server/http/scan-headers.js'
import { formatEcho } from '../../src/shared/format-type.js'
import { parseMessage, unparsedId } from '../../src/shared/jsonrpc.js'
import { redactTokens } from '../../src/shared/log.js'
import { parseSubmission } from '../../src/submission/call.js'
import { readLanderAnswer } from '../../src/submission/lander/answer.js'
import { readEngineAnswer } from '../../src/submission/relay/engine-answer.js'
import { hasRepeatedMember } from '../../src/submission/repeated-members.js'
import { CredentialForms } from '../../src/upstream/credential-forms.js'
import { isEncoded, toReplyHead } from '../../src/upstream/reply.js'
import { checkGrowth, type Work } from '../fixtures/linear.js'
import { isSoak } from '../fixtures/soak.js'

const KIB = 1024
/** Of a request: one header may be all of it. */
const HEAD_BYTES = 16 * KIB
/** What the event loop parses itself, and the bound of a submission. */
const MESSAGE_BYTES = 64 * KIB
/** What of a longer answer is searched in one turn of the event loop. */
const ANSWER_BYTES = 256 * KIB

/** What is thrown counts as an answer. */
const attempt = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error
  }
}

const KEY = 'hml-canary/of-them?key=~9'

const bytes = (text: string): Buffer => Buffer.from(text)
const requestOf = (value: string) => ({
  header: () => value,
  query: value,
  path: value,
})
const answerOf = (text: string, status = 200) => ({
  status,
  contentType: text.slice(0, HEAD_BYTES),
  headers: undefined,
  body: bytes(text),
})
const cookies = createCookies(new URL('https://a.example'))
const proxies = createProxies(['10.0.0.0/8', '2001:db8::/32'])
const limits = { batchCountMax: 1e9, nestingMax: 127, elementsMax: 1e9 }
const { find } = createSecretForms([KEY], [KEY, 'aaaaaaaaaaaaaaaab', '25252525252525', '\\%&amp;'])
const forms = new CredentialForms(KEY)

const HEADS: readonly Work['run'][] = [
  text => [cookies.read(text, 'session'), cookies.signIns(text)],
  text => wantsPage({ method: 'GET', path: '/', accept: text }),
  text => toBrowserName(text),
  text => proxies.clientOf(text),
  text => isAccepted('application/json', text),
  text => headerToken(requestOf(text) as never),
  text => submissionToken(requestOf(text) as never),
  text => scanHeaders(new HttpRequest(text)),
  text => isTokenShaped(text),
  text => foldEmail(text),
  text => attempt(() => parseRestriction(text)),
  text => [isEncoded({ 'content-encoding': text }), toReplyHead(200, { 'retry-after': text })],
  text => toReplyHead(200, { 'content-type': text }),
]
const MESSAGES: readonly Work['run'][] = [
  text => parseMessage(bytes(text), limits),
  text => parseSubmission(bytes(text), 32),
  text => hasRepeatedMember(text),
  text => rawElements(bytes(text)),
  text => unparsedId(text),
  text => redactTokens(text),
  text => formatEcho(text),
  text => readEngineAnswer(answerOf(text)),
  text => readLanderAnswer('/lander-submit-batch', answerOf(text, 400)),
  text => scrub(text, [KEY]),
  text => fromStatus(400, text, 'a', 'b', undefined),
]
const ANSWERS: readonly Work['run'][] = [
  text => find(bytes(text)),
  text => forms.cutFrom(bytes(text), '#'),
  text => findAnswerError(bytes(text)),
]

const UNITS = [
  ...['\\', '%', '%25', ' ', '&', '&amp;', '"', ',', ';', '=', '.', ':', '/', 'a', '1', '\u00e9'],
  ...[
    '\\u',
    '\\"',
    '%5c',
    '&#92;',
    '&a;',
    '&#0',
    'u0061',
    '\\u005c',
    ', ',
    'a=b;',
    ' a',
    '1.1.1.1,',
  ],
  ...['slt_', 'slt\\', 'slt_%5f', '\n', 'bearer ', 'api-key=', 'Version/1 Safari', ':1]', ']:1'],
]
const JSON_UNITS = ['"id":', '{"id":[]', '[]"id":', '[', '{', '{},', '"\\"",', '"id" ', '"a":1,']
const KEY_UNITS = [
  KEY.slice(0, -1),
  KEY[0] ?? '',
  `%2525${KEY}`,
  'aaaaaaaaaaaaaaaa\\',
  '25',
  `\\${KEY}`,
]

const ERROR = '{"error":{"message":"'

/** The source of a piece of work is its name: it calls one function. */
const nameOf = (run: Work['run']): string => String(run).replace(/\s+/g, ' ')
const toWork = (run: Work['run'], bytesMax: number, start = ''): Work => ({
  name: nameOf(run),
  bytesMax,
  run,
  start,
})

t.test('work on a head grows as the head does', async t => {
  for (const run of HEADS)
    for (const start of isSoak ? ['', 'a=', '\n\n\n\ncookie\n'] : [''])
      await checkGrowth(t, toWork(run, HEAD_BYTES, start), UNITS)
})

t.test('work on a message or a short answer grows as it does', async t => {
  for (const run of MESSAGES)
    for (const start of isSoak ? ['', '{"id":'] : ['{"id":'])
      await checkGrowth(t, toWork(run, MESSAGE_BYTES, start), [...UNITS, ...JSON_UNITS])
})

t.test('work on a long answer grows as it does', async t => {
  for (const run of ANSWERS)
    for (const start of isSoak ? ['', ERROR] : [ERROR])
      await checkGrowth(t, toWork(run, ANSWER_BYTES, start), [
        ...UNITS,
        ...JSON_UNITS,
        ...KEY_UNITS,
      ])
})
