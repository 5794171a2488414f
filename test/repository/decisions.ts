import { basename } from 'node:path/posix'
import t from 'tap'
import { linksOf, pages, readPage } from '../fixtures/docs/markdown.js'

const INDEX = 'docs/decisions/README.md'
const records = pages()
  .filter(page => /^docs\/decisions\/\d{4}-/.test(page))
  .map(page => basename(page))
  .sort()

t.test('the index lists every decision record once, in the order of numbers', async t => {
  t.ok(records.length > 0)
  const listed = linksOf(readPage(INDEX)).filter(target => /^\d{4}-/.test(target))
  t.strictSame(listed, records)
})

t.test('the index has the title and the status of each decision record', async t => {
  const rows = readPage(INDEX).split('\n')
  for (const record of records) {
    const text = readPage(`docs/decisions/${record}`)
    const [, number, title] = /^# (\d{4}) (.+)$/m.exec(text) ?? []
    const status = /^Status: (accepted|superseded by \d{4}), \d{4}-\d{2}-\d{2}$/m.exec(text)?.[1]
    const row = rows.find(line => line.startsWith(`| ${number} | [${title}](${record}) |`))
    t.ok(status !== undefined && row?.endsWith(`| ${status} |`), record)
  }
})
