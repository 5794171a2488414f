// The bare peer in C++, compiled from the sources that the build of the addon has patched.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onStart } from '../child.js'

export type Start = {
  /** Where the program is written. */
  readonly dir: string
  readonly reply: string
}

/** Where it answers, and the process that does; undefined where it cannot be compiled. */
export type Listening = { readonly port: number; readonly serverPid: number } | undefined

const C_FILES = ['bsd', 'context', 'loop', 'socket', 'udp', 'eventing/epoll_kqueue']
const DEFINES = ['-D_GNU_SOURCE', '-DLIBUS_NO_SSL', '-DUWS_NO_ZLIB']

// Compiled benchmarks are in dist/bench/bench/peers.
const root = fileURLToPath(new URL('../../../../', import.meta.url))

/** The newest sources that a build has patched. */
const findSources = (): string | undefined => {
  const target = join(root, 'native/target')
  const [newest] = readdirSync(target)
    .map(name => join(target, name, 'release/build'))
    .filter(folder => existsSync(folder))
    .flatMap(folder => readdirSync(folder).map(name => join(folder, name, 'out/sources')))
    .filter(folder => existsSync(join(folder, 'uSockets')))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  return newest
}

const compile = ({ dir }: Start, sources: string): string => {
  const includes = [
    ...[`-I${join(sources, 'src')}`, `-I${join(sources, 'uSockets/src')}`],
    `-I${join(root, 'native/uws/cpp')}`,
  ]
  const objects = C_FILES.map(file => {
    const object = join(dir, `${file.replace('/', '-')}.o`)
    const source = join(sources, 'uSockets/src', `${file}.c`)
    const clock = join(root, 'bench/peers/clock.h')
    const options = ['-O2', ...DEFINES, ...includes, '-include', clock]
    execFileSync('cc', [...options, '-c', source, '-o', object])
    return object
  })
  const program = join(dir, 'bare-cpp')
  const source = join(root, 'bench/peers/bare.cpp')
  execFileSync('c++', [
    ...['-std=c++20', '-O2', ...DEFINES, ...includes],
    ...[source, ...objects, '-o', program],
  ])
  return program
}

onStart<Start, Listening>(async start => {
  const sources = findSources()
  if (sources === undefined) return undefined
  const child = spawn(compile(start, sources), [start.reply], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { port: Number(line.toString()), serverPid: child.pid ?? 0 }
})
