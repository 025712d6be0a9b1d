// Checks what is drawn while it is drawn: by the head, which finds what it would find when the workflow is submitted.
import { useEffect, useState } from 'preact/hooks';
import { post } from './api.js';
import { toFlow } from './flow_doc.js';
import { writeWfFormat } from './flow_wfformat.js';

const STILL_MS = 350; // who is drawing is not asked about between two strokes

// The box that a finding is about, by its task or its line.
function keyOf(doc, finding, lines) {
	const at = lines.get(finding.line) ?? {};
	const task = finding.task || at.task;
	return task ? doc.tasks.find((t) => t.id === task)?.key : doc.files.find((f) => f.name === at.file)?.key;
}

async function check(doc, signal) {
	if (!doc.tasks.length)
		return { findings: [], n: 0, empty: true };
	const { text, lines } = writeWfFormat(toFlow(doc));
	const said = await post('/v1/workflows/check', text, { signal });
	return { ...said, n: said.n_findings, findings: said.findings.map((f) => ({ text: f.text, key: keyOf(doc, f, lines) })) };
}

// { n, findings: [{ text, key }], n_levels, ... } of the drawing as it is; `old` while it is not known yet.
export function useCheck(doc) {
	const [said, setSaid] = useState({ findings: [], n: 0, old: true });
	useEffect(() => {
		const abort = new AbortController();
		setSaid((was) => ({ ...was, old: true }));
		const timer = setTimeout(() => {
			check(doc, abort.signal).then((s) => setSaid(s), (e) => e.name !== 'AbortError' && setSaid({ findings: [], n: 0, old: true, error: e.message }));
		}, STILL_MS);
		return () => { clearTimeout(timer); abort.abort(); };
	}, [doc]);
	return said;
}
