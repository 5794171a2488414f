import t from 'tap'
import { toErrorPage, wantsPage } from '../../../src/dashboard/http/error-page.js'
import { startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

/** As Chromium and Firefox send it for a page. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

t.test('a page is only for browsers that show it', async t => {
  const cases: [accept: string, method: string, path: string, isPage: boolean][] = [
    [BROWSER, 'GET', '/nothing', true],
    [BROWSER, 'HEAD', '/sign-in', true],
    ['TEXT/HTML', 'GET', '/callback', true],
    ['application/json, text/html;q=0.2', 'GET', '/apiary', true],
    ['text/html;q=0', 'GET', '/nothing', false],
    ['text/html; q=0.00', 'GET', '/nothing', false],
    ['*/*', 'GET', '/nothing', false],
    ['', 'GET', '/nothing', false],
    ['application/json', 'GET', '/nothing', false],
    [BROWSER, 'POST', '/nothing', false],
    [BROWSER, 'GET', '/api/accesses', false],
    [BROWSER, 'GET', '/api', false],
    [BROWSER, 'GET', '/admin/accesses', false],
  ]
  for (const [accept, method, path, isPage] of cases)
    t.equal(wantsPage({ accept, method, path }), isPage, `${method} ${path} ${accept}`)
})

t.test('what a client has sent is text in it', async t => {
  const page = toErrorPage({ status: 400, body: { error: { message: `<b>"it's" & <script>` } } })
  t.match(page, '&lt;b&gt;&quot;it&#39;s&quot; &amp; &lt;script&gt;')
  t.notMatch(page, /<script|<style|style=|<b>|\son\w+=/)
})

t.test('failures of pages are branded, those of the API are JSON as before', async t => {
  const { url } = await startDashboard(t, {
    dashboard: { failuresBurstMax: 1, failuresPerMinuteMax: 1 },
  })
  const client = new DashboardClient(url)
  const headers = { accept: BROWSER }
  const cases: [path: string, status: number, title: RegExp][] = [
    ['/nothing', 404, /<h1>There is no such page<\/h1>/],
    ['/', 503, /<h1>Not available at the moment<\/h1>/],
    ['/sign-in?prompt=<script>', 400, /<h1>This request failed<\/h1>/],
  ]
  for (const [path, status, title] of cases) {
    const page = await client.ask(path, { headers })
    t.equal(page.status, status, path)
    t.match(page.headers.get('content-type'), /^text\/html/)
    t.match(page.headers.get('content-security-policy'), /default-src 'none'.*style-src 'self'/)
    t.equal(page.headers.get('cache-control'), 'no-store')
    t.match(page.text, title)
    t.notMatch(page.text, '<script')
    const json = await client.ask(path)
    t.equal(json.status, status)
    t.match(json.json, { error: { code: String, message: String } })
  }
  await client.ask('/callback?code=x&state=y', { headers })
  const limited = await client.ask('/callback?code=x&state=y', { headers })
  t.equal(limited.status, 429)
  t.match(limited.headers.get('retry-after'), /^\d+$/)
  t.match(limited.text, /<h1>Too many attempts<\/h1>[^]*try again in \d+ s/)
  const ofApi = await client.ask('/api/session', { headers })
  t.match(ofApi, { status: 401, json: { error: { code: 'signedOut' } } })
})
