import { basename } from 'node:path/posix'
import t from 'tap'
import { linksOf, readPage } from './fixtures/docs/markdown.js'

const INDEX = 'docs/decisions/README.md'
const listed = linksOf(readPage(INDEX)).filter(target => /^\d{4}-/.test(target))

t.test('the index has the title and the status of each decision record', async t => {
  t.ok(listed.length > 0)
  const rows = readPage(INDEX).split('\n')
  for (const record of listed) {
    const text = readPage(`docs/decisions/${record}`)
    const [, number, title] = /^# (\d{4}) (.+)$/m.exec(text) ?? []
    const status = /^Status: (accepted|superseded by \d{4}), \d{4}-\d{2}-\d{2}$/m.exec(text)?.[1]
    const link = `| ${number} | [${title}](${basename(record)}) |`
    const row = rows.find(line => line.startsWith(link))
    t.ok(status !== undefined && row?.endsWith(`| ${status} |`), record)
  }
})

t.test('the index is in the order of numbers', async t => {
  t.strictSame(listed, [...listed].sort())
})
