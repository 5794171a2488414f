// Runs one process of the service. The supervisor starts it; it does not load the command line.
import { isRole, runRole } from './processes/role.js'

const [, , role = ''] = process.argv
if (!isRole(role)) {
  process.stderr.write('slotline: no such role\n')
  process.exit(2)
}
runRole(role)
