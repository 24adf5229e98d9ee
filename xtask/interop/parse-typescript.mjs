// Parses TypeScript statements for interop runs: a JSON array of texts on stdin, an array of complaints (or null) on stdout.
import { readFileSync } from 'node:fs';
import ts from 'typescript';

function complaint(text) {
    const { diagnostics } = ts.transpileModule(text, {
        reportDiagnostics: true,
        compilerOptions: { target: ts.ScriptTarget.ESNext }
    });
    if (diagnostics.length > 0) {
        return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')).join('; ');
    }
    const { statements } = ts.createSourceFile('signature.ts', text, ts.ScriptTarget.ESNext);
    if (statements.length !== 1 || !ts.isFunctionDeclaration(statements[0])) {
        return 'parses, but not as one function';
    }
    return null;
}

const texts = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(texts.map(complaint)));
