import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { defaults as processes } from '../../src/config/sections/process-options.js'
import { ERRORS } from '../../src/shared/errors.js'
import { METRICS } from '../../src/shared/metrics.js'
import { ownDir } from '../fixtures/own-dir.js'
import { repositoryPath } from '../fixtures/repository.js'
import { skipAbsent } from '../fixtures/skip-absent.js'

const read = (name: string): string => readFileSync(repositoryPath(`deploy/${name}`), 'utf8')

type Row = { readonly name: string; readonly type: string; readonly labels: readonly string[] }
const ROWS: readonly Row[] = Object.values(METRICS)

/** Labels that Prometheus and the page of metrics add. */
const ADDED = new Set(['instance', 'job', 'le', 'process'])
/** Outcomes that are no errors. */
const OUTCOMES = new Set(['ok', 'refused', 'unreachable', 'no-response', 'full', 'forwarded'])

const declaredAs = (series: string): Row | undefined =>
  ROWS.find(
    ({ name, type }) =>
      name === series ||
      (type === 'histogram' && series.replace(/_(bucket|sum|count)$/, '') === name),
  )

/** What is wrong with an expression: unknown metrics, labels and outcomes. */
const faultsOf = (expression: string): string[] => {
  const names = expression.match(/\bslotline_\w+/g) ?? []
  const rows = names.map(declaredAs)
  const faults = names
    .filter((_, index) => rows[index] === undefined)
    .map(name => `${name} is not declared`)
  const known = new Set(rows.flatMap(row => row?.labels ?? []))
  const grouped = Array.from(expression.matchAll(/\bby \(([^)]*)\)/g), ([, list = '']) =>
    list.split(/,\s*/),
  ).flat()
  const matchers = Array.from(expression.matchAll(/(\w+)\s*(?:=~|!=|=)\s*"([^"]*)"/g))
  for (const label of [...grouped, ...matchers.map(([, label = '']) => label)])
    if (names.length > 0 && !known.has(label) && !ADDED.has(label))
      faults.push(`${label} is no label in ${expression}`)
  for (const [, label, value = ''] of matchers)
    if (label === 'outcome')
      for (const outcome of value.split('|'))
        if (!OUTCOMES.has(outcome) && !(outcome in ERRORS)) faults.push(`${outcome} is no outcome`)
  return faults
}

const alertExpressions = (): string[] =>
  Array.from(
    read('alerts.yaml').matchAll(/^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.+)\n)/gm),
    ([, folded, plain]) => (folded ?? plain ?? '').trim(),
  )

type Panel = { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }

t.test('alerts use metrics that the service has', async t => {
  const text = read('alerts.yaml')
  const expressions = alertExpressions()
  t.equal(expressions.length, text.match(/^ {6}- alert: /gm)?.length, 'every rule is found')
  t.strictSame(expressions.flatMap(faultsOf), [])
  for (const name of [
    'slotline_store_complete',
    'slotline_tip_age_seconds',
    'slotline_feed_healthy',
    'slotline_process_restarts_total',
    'slotline_disk_free_bytes',
    'slotline_queue_depth',
    'slotline_relay_calls_total',
    'slotline_listener_certificate_end_seconds',
  ])
    t.ok(
      expressions.some(expression => expression.includes(name)),
      `${name} has an alert`,
    )
})

t.test('the dashboard uses metrics that the service has', async t => {
  const { panels } = JSON.parse(read('grafana.json')) as { readonly panels: readonly Panel[] }
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  t.ok(expressions.length > 30)
  t.strictSame(expressions.flatMap(faultsOf), [])
  t.equal(new Set(panels.map(({ title }) => title)).size, panels.length, 'titles differ')
})

t.test('the check finds an unknown metric, label and outcome', async t => {
  t.strictSame(faultsOf('sum by (pool) (slotline_queue_depths)'), [
    'slotline_queue_depths is not declared',
    'pool is no label in sum by (pool) (slotline_queue_depths)',
  ])
  t.strictSame(faultsOf('slotline_request_seconds_bucket{methods="x"}').length, 1)
  t.strictSame(faultsOf('slotline_tip_slot_bucket').length, 1, 'only histograms have buckets')
  t.strictSame(faultsOf('slotline_requests_total{outcome=~"ok|overload"}'), [
    'overload is no outcome',
  ])
})

t.test('promtool accepts the alerts', async t => {
  const path = repositoryPath('deploy/alerts.yaml')
  const { error, status, stderr, stdout } = spawnSync('promtool', ['check', 'rules', path], {
    encoding: 'utf8',
  })
  if (error !== undefined)
    return skipAbsent(t, 'no promtool in PATH: install it with `apt-get install prometheus`')
  t.equal(status, 0, `${stdout}${stderr}`)
})

t.test('the unit waits for what the service takes', async t => {
  const unit = read('slotline.service')
  const seconds = (name: string): number =>
    Number(new RegExp(`^${name}=(\\d+)$`, 'm').exec(unit)?.[1] ?? 0)
  t.ok(seconds('TimeoutStopSec') * 1_000 > processes.drainMs)
  t.ok(seconds('TimeoutStartSec') * 1_000 > 3 * processes.startMs)
  t.ok(seconds('WatchdogSec') * 1_000 > processes.hungMs)
  for (const line of ['Type=notify', 'User=slotline', 'LimitRTPRIO=1', 'LimitNOFILE=1048576'])
    t.ok(unit.split('\n').includes(line), line)
})

t.test('systemd accepts the unit', async t => {
  const path = join(ownDir(t), 'slotline.service')
  // The programs of the package are not installed here.
  writeFileSync(path, read('slotline.service').replaceAll('/usr/bin/slotline', process.execPath))
  const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], {
    encoding: 'utf8',
  })
  if (error !== undefined)
    return skipAbsent(t, 'no systemd-analyze in PATH: install it with `apt-get install systemd`')
  t.equal(status, 0, stderr)
  t.notMatch(stderr, 'slotline.service:', 'nothing is unknown to it')
})
