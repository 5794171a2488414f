import t from 'tap'
import { exchange, isPrebuilt, openTestServer, post, statusOf } from '../fixtures/server/server.js'

const LINE = 'the prebuilt package uWebSockets.js serves'

t.test('the prebuilt package answers, and a line says that it serves', async t => {
  const { port, lines } = await openTestServer(t, [{}], { options: { library: 'prebuilt' } })
  t.equal(statusOf(await exchange(port, post('/t', 'hi'))), '200')
  t.match(lines.join(''), LINE)
})

t.test('the compiled server says nothing', { skip: isPrebuilt && 'not compiled' }, async t => {
  const { lines } = await openTestServer(t, [{}])
  t.notMatch(lines.join(''), LINE)
})
