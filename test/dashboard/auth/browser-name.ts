import t from 'tap'
import { toBrowserName } from '../../../src/dashboard/auth/browser-name.js'

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const LINUX = 'Mozilla/5.0 (X11; Linux x86_64)'
const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)'

t.test('browser and system of a user agent', t => {
  const cases: readonly (readonly [userAgent: string, name: string])[] = [
    [`${LINUX} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`, 'Chrome on Linux'],
    [`${LINUX} ${WEBKIT} HeadlessChrome/131.0.0.0 Safari/537.36`, 'Chrome on Linux'],
    [`${WINDOWS} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`, 'Edge on Windows'],
    [`${WINDOWS} ${WEBKIT} Chrome/130.0.0.0 Safari/537.36 OPR/115.0.0.0`, 'Opera on Windows'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
      'Safari on iOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0 Mobile/15E148 Safari/604.1',
      'Chrome on iOS',
    ],
    [
      `Mozilla/5.0 (Linux; Android 14; SM-S918B) ${WEBKIT} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36`,
      'Samsung Internet on Android',
    ],
    [
      `Mozilla/5.0 (X11; CrOS x86_64 14541) ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`,
      'Chrome on ChromeOS',
    ],
    ['curl/8.5.0', ''],
    ['Mozilla/5.0 (X11; Linux x86_64)', 'Linux'],
    ['', ''],
    ['<script>alert(1)</script>', ''],
    [`${'x'.repeat(600)} Firefox/133.0`, ''],
  ]
  for (const [userAgent, name] of cases) t.equal(toBrowserName(userAgent), name, userAgent)
  t.end()
})
