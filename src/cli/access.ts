import { Option, type Command } from 'commander'
import type { DayRow } from '../usage/days.js'
import type { Config } from '../config/config.js'
import { toCsvLine } from '../dashboard/http/csv.js'
import { collect, day, instant, instantOrMs, instantOrNever, integer, limits } from './arguments.js'
import { adminCommand as command, callAndPrint as call, type Where } from './admin/admin-command.js'
import { UsageError, withService, type ConfigLoader, type ServiceOptions } from './command.js'

/** Valid ids need no escapes; other input must not change the path. */
const segment = encodeURIComponent
const accessPath = (accessId: string): string => `/accesses/${segment(accessId)}`
const tokenPath = (accessId: string, network: string, location: string): string =>
  `${accessPath(accessId)}/networks/${segment(network)}/locations/${segment(location)}/token`

const addGrant = (root: Command, load: ConfigLoader): void => {
  command(root, 'grant', 'grant an access of a product')
    .requiredOption('--subject <subject>', 'its user: the `sub` claim of the identity provider')
    .requiredOption('--product <id>', 'product of the configuration')
    .addOption(
      new Option('--kind <kind>', 'owned or rented').choices(['pass', 'rental']).default('pass'),
    )
    .option(
      '--network <id>',
      'restrict to this one; repeatable (default: all of the product)',
      collect,
    )
    .option(
      '--location <id>',
      'restrict to this one; repeatable (default: all of the product)',
      collect,
    )
    .option('--label <text>', "the operator's name for it")
    .option('--limits <list>', 'in place of those of the product: socketsMax=4,…', limits)
    .option('--from <time>', 'start time (default: now)', instant)
    .addOption(
      new Option('--until <time>', 'end time, or never').argParser(instantOrNever).default('never'),
    )
    .action(({ subject, product, kind, network, location, label, limits, from, until, ...where }) =>
      call(load, where, {
        method: 'POST',
        path: '/accesses',
        body: {
          subject,
          product,
          kind,
          networks: network,
          locations: location,
          label,
          limits,
          validFromMs: from,
          validUntilMs: until === 'never' ? null : until,
        },
      }),
    )
}

const addAmend = (root: Command, load: ConfigLoader): void => {
  command(root, 'amend <accessId>', 'change what an access has; what it loses ends at once')
    .option('--network <id>', 'its networks from now on; repeatable', collect)
    .option('--location <id>', 'its locations from now on; repeatable', collect)
    .option('--limits <list>', 'new limits: socketsMax=4,…; others stay', limits)
    .option('--label <text>', "the operator's name for it; an empty one removes it")
    .option('--until <time>', 'the new end, or never', instantOrNever)
    .action((accessId: string, { network, location, limits, label, until, ...where }) => {
      const body = {
        networks: network,
        locations: location,
        limits,
        label,
        validUntilMs: until === 'never' ? null : until,
      }
      if (Object.values(body).every(value => value === undefined))
        throw new UsageError('give --network, --location, --limits, --label or --until')
      return call(load, where, { method: 'POST', path: `${accessPath(accessId)}/amend`, body })
    })
}

const addOperations = (root: Command, load: ConfigLoader): void => {
  command(root, 'list', 'list accesses in the order of their ids')
    .option('--subject <subject>', 'all of one person')
    .option('--after <accessId>', 'begin after this one: `next` of the answer before')
    .option('--limit <count>', 'maximum number', integer(1, 1_000), 100)
    .action(({ subject, after, limit, ...where }) => {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(subject === undefined ? {} : { subject }),
        ...(after === undefined ? {} : { after }),
      })
      return call(load, where, { method: 'GET', path: `/accesses?${query}` })
    })
  command(root, 'show <accessId>', 'show an access with its tokens, masked').action(
    (accessId: string, where: Where) =>
      call(load, where, { method: 'GET', path: accessPath(accessId) }),
  )
  command(root, 'extend <accessId>', 'set the end of an access; one that had ended is active again')
    .requiredOption('--until <time>', 'the new end, or never', instantOrNever)
    .action((accessId: string, { until, ...where }) =>
      call(load, where, {
        method: 'POST',
        path: `${accessPath(accessId)}/extend`,
        body: { validUntilMs: until === 'never' ? null : until },
      }),
    )
  command(root, 'end <accessId>', 'end an access now; its tokens are kept').action(
    (accessId: string, where: Where) =>
      call(load, where, { method: 'POST', path: `${accessPath(accessId)}/end` }),
  )
}

const addTokenCommands = (root: Command, load: ConfigLoader): void => {
  const token = root.command('token').description('manage the token of a scope')
  const scope = '<accessId> <network> <location>'
  const verbs: readonly [
    name: string,
    method: 'POST' | 'DELETE',
    path: string,
    description: string,
  ][] = [
    ['generate', 'POST', '', 'make the token of a scope that has none, and show it'],
    ['regenerate', 'POST', '/regenerate', 'replace the token; the former one is invalid at once'],
    ['reveal', 'POST', '/reveal', 'show the token and its URLs'],
    ['revoke', 'DELETE', '', 'revoke the token; it is invalid when this returns'],
  ]
  for (const [name, method, path, description] of verbs)
    command(token, `${name} ${scope}`, description).action(
      (accessId: string, network: string, location: string, where: Where) =>
        call(load, where, { method, path: tokenPath(accessId, network, location) + path }),
    )
  command(
    token,
    `restrict ${scope} [address]`,
    'limit to one IPv4 address; without one, lift that',
  ).action((accessId: string, network: string, location: string, address = '', where: Where = {}) =>
    call(load, where, {
      method: 'PUT',
      path: `${tokenPath(accessId, network, location)}/restriction`,
      body: { address },
    }),
  )
}

/** `slotline audit`: what was done to accesses and tokens, and by whom. */
export const addAuditCommand = (program: Command, load: ConfigLoader): void => {
  command(program, 'audit', 'show who changed accesses, saw tokens and signed in, newest first')
    .option('--subject <subject>', 'only what this person did')
    .option('--access <accessId>', 'only what was done to this access')
    .option('--before <time>', 'only what is older: `next` of the answer before', instantOrMs)
    .option('--limit <count>', 'maximum number', integer(1, 1_000), 100)
    .action(({ subject, access, before, limit, ...where }) => {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(subject === undefined ? {} : { subject }),
        ...(access === undefined ? {} : { access }),
        ...(before === undefined ? {} : { before: String(before) }),
      })
      return call(load, where, { method: 'GET', path: `/audit?${query}` })
    })
}

type UsageOptions = ServiceOptions & {
  readonly csv?: boolean
  readonly from?: number
  readonly until?: number
  readonly access?: string
  readonly machine?: boolean
}

/** Rows of a page of the admin API, which has whole days. */
const PAGE_ROWS = 1_000

const USAGE_HEADER = ['day', 'access', 'network', 'location', 'method']

const printUsage = async (load: ConfigLoader, options: UsageOptions): Promise<void> => {
  const config = await load.service(options)
  const { csv = false, machine = false } = options
  const { columnOf, METHOD_FIGURE_NAMES: names } = await import('../usage/schema.js')
  if (csv) process.stdout.write(toCsvLine([...USAGE_HEADER, ...names.map(columnOf)]))
  const isSum = config.cluster !== undefined && !machine
  for await (const row of isSum ? readSums(config, options) : readOwn(config, options)) {
    const { day: text, accessId, network, location, method } = row
    const counted = names.map(name => row[name])
    const line = csv
      ? toCsvLine([text, accessId, network, location, method, ...counted])
      : `${JSON.stringify(row)}\n`
    process.stdout.write(line)
  }
}

type UsageRow = DayRow & { readonly day: string }
type UsagePage = {
  readonly rows: readonly UsageRow[]
  readonly next: string | null
  readonly missing?: readonly string[]
}

/** What this machine has counted, from its files. */
async function* readOwn(
  { dataDir }: Config,
  { from = 0, until = Infinity, access: accessId }: UsageOptions,
): AsyncGenerator<UsageRow> {
  const [{ openUsageReader }, { readDays }, { formatDay }] = await Promise.all([
    import('../usage/store.js'),
    import('../usage/days.js'),
    import('../usage/scope.js'),
  ])
  const ask = openUsageReader(dataDir)
  const days = readDays(
    { from, until, accessId },
    async (name, parameters) => [await ask(name, parameters)],
    ([own = []]) => own,
  )
  for await (const { day, rows } of days)
    for (const row of rows) yield { day: formatDay(day), ...row }
}

/** What all machines of the cluster have counted, from the service of this one. */
async function* readSums(
  config: Config,
  { from, until, access }: UsageOptions,
): AsyncGenerator<UsageRow> {
  const { callAdmin, targetOf } = await import('./admin/admin-client.js')
  const { formatDay } = await import('../usage/scope.js')
  const missing = new Set<string>()
  let first = from === undefined ? undefined : formatDay(from)
  do {
    const query = new URLSearchParams({
      ...(first === undefined ? {} : { from: first }),
      ...(until === undefined ? {} : { until: formatDay(until) }),
      ...(access === undefined ? {} : { access }),
      limit: String(PAGE_ROWS),
    })
    const path = `/usage?${query}`
    const page = (await callAdmin(targetOf(config), { method: 'GET', path })) as UsagePage
    yield* page.rows
    for (const id of page.missing ?? []) missing.add(id)
    first = page.next ?? undefined
  } while (first !== undefined)
  if (missing.size > 0)
    throw new Error(
      `${[...missing].toSorted().join(', ')} did not answer: the counts lack theirs; repeat it, or ` +
        'run slotline usage --machine there',
    )
}

/** `slotline usage`: what each access did by day, for billing. */
export const addUsageCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('usage'))
    .description('print requests by day (UTC), access, network, location and method')
    .option('--json', 'as one JSON object per line (the default)')
    .addOption(new Option('--csv', 'as CSV with a header').conflicts('json'))
    .option('--from <day>', 'first day (default: the oldest that is kept)', day)
    .option('--until <day>', 'the day after the last one (default: with today)', day)
    .option('--access <accessId>', 'only of this access')
    .option('--machine', 'only what this machine of a cluster has counted')
    .action((options: UsageOptions) => printUsage(load, options))
}

/** `slotline access …`: every operation of the admin API, which requires its token. Prints JSON. */
export const addAccessCommands = (program: Command, load: ConfigLoader): void => {
  const root = program
    .command('access')
    .description('grant, amend, extend and end accesses; manage tokens')
  addGrant(root, load)
  addAmend(root, load)
  addOperations(root, load)
  addTokenCommands(root, load)
}
