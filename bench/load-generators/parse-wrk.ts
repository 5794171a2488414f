/** What wrk printed. */
export type WrkResult = {
  /** Undefined where it printed no rate. */
  readonly requestsPerSecond: number | undefined
  /** Its own words on requests that failed. */
  readonly complaint: string | undefined
}

/** Reads the output of wrk. Failed requests do not end a benchmark: they are reported. */
export const parseWrk = (output: string): WrkResult => {
  const rate = /Requests\/sec: *([\d.]+)/.exec(output)?.[1]
  const complaints = output.match(/^ *(?:Non-2xx|Socket errors).*$/gm)?.map(line => line.trim())
  return {
    requestsPerSecond: rate === undefined ? undefined : Number(rate),
    complaint: complaints?.join('; ') ?? (rate === undefined ? output.trim() : undefined),
  }
}
