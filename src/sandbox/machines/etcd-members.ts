import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

/** Starts its arguments, and ends them when its standard input ends, as with this process. */
const WATCHED = '"$@" & pid=$!; cat >/dev/null; kill -9 $pid'

export type EtcdMembersOptions = {
  /** Folder of the certificates of the cluster; each member has its data in a folder there. */
  readonly dir: string
  readonly count: number
  /** Of the clients; the ports of the peers follow. */
  readonly firstPort: number
  /** Where clients find them; loopback otherwise. */
  readonly address?: string | undefined
  /** Members end with this process. They are then not its direct children. */
  readonly isWatched?: boolean
}

/** Whether etcd is installed. */
export const hasEtcd = (): boolean => spawnSync('etcd', ['--version']).status === 0

/** Members of one etcd on loopback. */
export class EtcdMembers {
  /** Where clients find them. */
  readonly endpoints: readonly string[]
  /** The processes that were started last, by member. */
  readonly processes: ChildProcess[] = []
  private readonly options: EtcdMembersOptions

  constructor(options: EtcdMembersOptions) {
    this.options = options
    this.endpoints = this.indexes.map(index => this.clientUrl(index, 'localhost'))
  }

  startAll(): void {
    for (const index of this.indexes) this.start(index)
  }

  start(index: number): void {
    const [command = '', ...args] = this.commandOf(index)
    this.processes[index] =
      this.options.isWatched === true
        ? spawn('sh', ['-c', WATCHED, 'sh', command, ...args], {
            stdio: ['pipe', 'ignore', 'ignore'],
            // Ctrl-C in a terminal is for the sandbox, which needs them to drain.
            detached: true,
          })
        : spawn(command, args, { stdio: 'ignore' })
  }

  /** Ends a member at once. */
  async kill(index: number): Promise<void> {
    const member = this.processes[index]
    if (member === undefined || member.exitCode !== null || member.signalCode !== null) return
    const ended = new Promise(resolve => member.once('close', resolve))
    if (this.options.isWatched === true) member.stdin?.end()
    else member.kill('SIGKILL')
    await ended
  }

  async killAll(): Promise<void> {
    await Promise.all(this.indexes.map(index => this.kill(index)))
  }

  private get indexes(): readonly number[] {
    return Array.from({ length: this.options.count }, (_, index) => index)
  }

  private clientUrl(index: number, loopback = '127.0.0.1'): string {
    const { address = loopback, firstPort } = this.options
    return `https://${address}:${firstPort + index}`
  }

  private peerUrl(index: number): string {
    return `https://127.0.0.1:${this.options.firstPort + this.options.count + index}`
  }

  private commandOf(index: number): readonly string[] {
    const { dir } = this.options
    const tls = (prefix: string): string[] => [
      `--${prefix}client-cert-auth`,
      `--${prefix}trusted-ca-file=${join(dir, 'ca.pem')}`,
      `--${prefix}cert-file=${join(dir, 'etcd.pem')}`,
      `--${prefix}key-file=${join(dir, 'etcd.key')}`,
    ]
    return [
      'etcd',
      `--name=m${index}`,
      `--data-dir=${join(dir, `m${index}`)}`,
      `--listen-client-urls=${this.clientUrl(index)}`,
      `--advertise-client-urls=${this.clientUrl(index, 'localhost')}`,
      `--listen-peer-urls=${this.peerUrl(index)}`,
      `--initial-advertise-peer-urls=${this.peerUrl(index)}`,
      `--initial-cluster=${this.indexes.map(at => `m${at}=${this.peerUrl(at)}`).join(',')}`,
      `--initial-cluster-token=${dir}`,
      ...tls(''),
      ...tls('peer-'),
    ]
  }
}
