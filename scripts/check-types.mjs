// Checks the types of projects of TypeScript, and with them what the linters here cannot: a promise
// that nothing awaits or handles, a promise as a condition, and an asynchronous function where its
// caller ignores what it returns. Each loses a rejection, or takes a promise for its value. Part of
// `npm run lint`. Arguments are folders with a tsconfig.json.
import { join, relative } from 'node:path'
import process from 'node:process'
import ts from 'typescript'

const partsOf = type => (type.isUnion() ? type.types : [type])
/** Set for each project. */
let checker
const isPromise = type =>
  partsOf(type).some(part => {
    const then = part.getProperty('then')
    return then !== undefined && checker.getTypeOfSymbol(then).getCallSignatures().length > 0
  })
const isAlwaysPromise = type => partsOf(type).every(isPromise)
const typeOf = node => checker.getTypeAtLocation(node)

/** `.then(_, onRejected)`, `.catch(…)`, and `.finally(…)` of one of them. */
const isHandled = node => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false
  const { name, expression } = node.expression
  if (name.text === 'catch') return node.arguments.length > 0
  if (name.text === 'then') return node.arguments.length > 1
  return name.text === 'finally' && isHandled(expression)
}

/** What an expression whose value nobody takes leaves: both sides of `a ? b : c` and `a && b`. */
const leavesOf = node => {
  if (ts.isParenthesizedExpression(node)) return leavesOf(node.expression)
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(leavesOf)
  if (!ts.isBinaryExpression(node)) return [node]
  const { kind } = node.operatorToken
  if (kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment) return []
  return leavesOf(node.right)
}

/** tap awaits its subtests. */
const isSubtest = node => ts.isCallExpression(node) && node.expression.getText() === 't.test'

const isIgnored = node => ts.isVoidExpression(node) || ts.isAwaitExpression(node) || isSubtest(node)

const conditionOf = node => {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node))
    return node.expression
  if (ts.isConditionalExpression(node)) return node.condition
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return node.operand
  return undefined
}

const isVoid = type => (type.flags & ts.TypeFlags.Void) !== 0

/** Arguments that are called by one who expects no promise. */
const lostCallbacks = node => {
  const signature = checker.getResolvedSignature(node)
  if (signature === undefined) return []
  return (node.arguments ?? []).filter(argument => {
    if (!ts.isArrowFunction(argument) && !ts.isFunctionExpression(argument)) return false
    const expected = checker.getContextualType(argument)
    const called = expected?.getCallSignatures() ?? []
    const own = typeOf(argument).getCallSignatures()
    return (
      called.length > 0 &&
      called.every(each => isVoid(each.getReturnType())) &&
      own.some(each => isPromise(each.getReturnType()))
    )
  })
}

const faults = []
const report = (node, message) => {
  const file = node.getSourceFile()
  const { line } = file.getLineAndCharacterOfPosition(node.getStart())
  faults.push(`${relative(process.cwd(), file.fileName)}:${line + 1}: ${message}`)
}

const visit = node => {
  if (ts.isExpressionStatement(node))
    for (const leaf of leavesOf(node.expression))
      if (!isIgnored(leaf) && isPromise(typeOf(leaf)) && !isHandled(leaf))
        report(leaf, 'nothing awaits or handles this promise')
  const condition = conditionOf(node)
  if (condition !== undefined && isAlwaysPromise(typeOf(condition)))
    report(condition, 'a promise is always true')
  if (ts.isCallExpression(node) || ts.isNewExpression(node))
    for (const argument of lostCallbacks(node))
      report(argument, 'nobody awaits what this function returns')
  ts.forEachChild(node, visit)
}

const formatHost = {
  getCurrentDirectory: () => process.cwd(),
  getCanonicalFileName: name => name,
  getNewLine: () => '\n',
}

const check = folder => {
  const onUnRecoverableConfigFileDiagnostic = found => {
    throw new Error(ts.formatDiagnostic(found, formatHost))
  }
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic }
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(
    join(folder, 'tsconfig.json'),
    { noEmit: true, incremental: false, tsBuildInfoFile: undefined },
    host,
  )
  const program = ts.createProgram(fileNames, options)
  checker = program.getTypeChecker()
  const found = [...errors, ...ts.getPreEmitDiagnostics(program)]
  faults.push(...found.map(each => ts.formatDiagnostic(each, formatHost).trimEnd()))
  for (const file of program.getSourceFiles())
    if (!program.isSourceFileFromExternalLibrary(file) && !file.isDeclarationFile) visit(file)
}

for (const folder of process.argv.slice(2)) check(folder)
for (const fault of new Set(faults)) process.stderr.write(`${fault}\n`)
process.exitCode = faults.length === 0 ? 0 : 1
