import { existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { collect } from '../arguments.js'
import { UsageError } from '../command.js'
import { applies, QUESTIONS, type Answers, type Question } from './questions.js'

type Flags = Readonly<Record<string, string | readonly string[] | boolean | undefined>>

/** A person at a terminal. */
type Person = { ask(text: string): Promise<string>; close(): void }

const openPerson = (): Person => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Lines are queued: pasted ones arrive before their questions.
  const lines = terminal[Symbol.asyncIterator]()
  return {
    ask: async text => {
      terminal.setPrompt(text)
      terminal.prompt()
      const { done, value } = await lines.next()
      if (done === true) throw new Error('ended before the last answer: nothing is written')
      return value
    },
    close: () => terminal.close(),
  }
}

/** Name of an option as commander has it. */
const flagOf = ({ name }: Question): string =>
  name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

const given = (question: Question, flags: Flags): readonly string[] | undefined => {
  const value = flags[flagOf(question)]
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? (value as readonly string[]) : undefined
}

type Explain = (name: string, words: readonly string[]) => string | undefined

const askPerson = async (
  person: Person,
  { fallback, isList, isRequired, name, text }: Question,
  explain: Explain,
): Promise<readonly string[]> => {
  for (;;) {
    const answer = await person.ask(
      fallback === undefined ? `${text}: ` : `${text} [${fallback}]: `,
    )
    const words = isList ? answer.split(/[\s,]+/) : [answer.trim()]
    const found = words.filter(word => word !== '')
    const wrong = explain(name, found)
    if (wrong !== undefined) process.stderr.write(`It ${wrong}.\n`)
    else if (found.length > 0 || !isRequired) return found
  }
}

/** Answers of flags, then of the person, then the defaults. Throws if one is missing. */
const collectAnswers = async (flags: Flags, person: Person | undefined): Promise<Answers> => {
  const { explainAnswer } = await import('./answer-checks.js')
  const answers = new Map<string, readonly string[]>()
  for (const question of QUESTIONS) {
    const { fallback, isRequired, name } = question
    let answer = given(question, flags)
    if (answer !== undefined && !applies(question, answers))
      throw new UsageError(`--${name} needs --${question.of?.join(' or --')}`)
    if (!applies(question, answers)) continue
    answer ??= person === undefined ? [] : await askPerson(person, question, explainAnswer)
    if (answer.length === 0 && fallback !== undefined) answer = [fallback]
    if (answer.length === 0 && isRequired)
      throw new UsageError(`--${name} <${question.argument}> is needed: ${question.text}`)
    const wrong = explainAnswer(name, answer)
    if (wrong !== undefined) throw new UsageError(`--${name} ${wrong}`)
    if (answer.length > 0) answers.set(name, answer)
  }
  return answers
}

const demandNone = (file: string): void => {
  if (existsSync(file)) throw new Error(`${file} exists: it is not overwritten`)
}

/** What to do with the file that is written. */
const formatNext = (file: string, answers: Answers): string => {
  const one = (name: string): string => answers.get(name)?.[0] ?? ''
  const network = `--config ${file} --network ${one('network')}`
  const rpc = `, or, with networks.accountsRpc in the file,\n  slotline bootstrap rpc ${network}`
  return (
    `${file} is written. Next:\n` +
    `  slotline config check ${file}\n` +
    `  slotline serve --config ${file}\n` +
    'The index of a new service has only what changes from then on. Until it is bootstrapped, GET /health\n' +
    'is 503 `incomplete`, and a proxy that checks it sends no client:\n' +
    `  slotline snapshot load ${network} <full> <incremental>` +
    `${answers.has('program') ? rpc : ''}\n` +
    'A client needs an access and a token:\n' +
    `  slotline access grant --config ${file} --subject <user> --product ${one('product')}\n` +
    `  slotline access token generate --config ${file} <accessId> ${one('network')} ${one('location')}\n`
  )
}

const init = async (file: string, flags: Flags): Promise<void> => {
  const { parseConfig } = await import('../../config/config.js')
  const { formatStarter } = await import('../../config/starter-file.js')
  const { toStarter } = await import('./to-starter.js')
  demandNone(file)
  const person = process.stdin.isTTY && flags['yes'] !== true ? openPerson() : undefined
  const answers = await collectAnswers(flags, person).finally(() => person?.close())
  const text = formatStarter(toStarter(answers))
  // An answer may be wrong: the error names its option.
  parseConfig(text, file)
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    // Another process made it since.
    demandNone(file)
    throw error
  }
  process.stdout.write(formatNext(file, answers))
}

/** `slotline init`: writes a configuration to begin with. */
export const addInitCommand = (program: Command): void => {
  const command = program
    .command('init [file]')
    .description('write a configuration to begin with; asks at a terminal for what no flag says')
    .option('--yes', 'do not ask: take the defaults')
  for (const question of QUESTIONS) {
    const { argument, fallback, isList, name, text } = question
    const shown = fallback === undefined ? text : `${text} (default: ${fallback})`
    if (isList) command.option(`--${name} <${argument}>`, `${shown}; repeatable`, collect)
    else command.option(`--${name} <${argument}>`, shown)
  }
  command.action((file: string | undefined, flags: Flags) => init(file ?? 'slotline.toml', flags))
}
