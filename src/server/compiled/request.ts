import type { HttpRequest } from '../library.js'

/** Lines of a head before its headers: method, path, query and version. */
const FIRST_LINES = 4

/** The head of a request: one string from C++, cut into lines at the first use of a header. */
export class CompiledRequest implements HttpRequest {
  private readonly lines: readonly string[]

  constructor(head: string) {
    this.lines = head.split('\n')
  }

  getCaseSensitiveMethod(): string {
    return this.lines[0] ?? ''
  }

  getUrl(): string {
    return this.lines[1] ?? ''
  }

  getQuery(): string {
    return this.lines[2] ?? ''
  }

  getHeader(lowerCaseName: string): string {
    const { lines } = this
    for (let at = FIRST_LINES; at < lines.length; at += 2)
      if (lines[at] === lowerCaseName) return lines[at + 1] ?? ''
    return ''
  }

  isAncient(): boolean {
    return this.lines[3]?.startsWith('1.0') === true
  }

  isBodyDue(): boolean {
    return this.lines[3]?.endsWith('+') === true
  }

  forEach(handle: (name: string, value: string) => void): void {
    const { lines } = this
    for (let at = FIRST_LINES; at < lines.length; at += 2)
      handle(lines[at] ?? '', lines[at + 1] ?? '')
  }
}
