// Workflows as files: import of any of the three forms and export into one. What is read and written other than WfFormat the head turns into
// that and back: one reader is enough.
import { useState } from 'preact/hooks';
import { text } from './api.js';
import { save } from './export.js';
import { fromFlow, toFlow } from './flow_doc.js';
import { readWfFormat, writeWfFormat } from './flow_wfformat.js';
import { html } from './html.js';

const forms = [
	{ name: 'wfformat', title: 'WfFormat 1.5 (JSON)', end: 'json' },
	{ name: 'dax', title: 'Pegasus DAX (XML)', end: 'xml' },
	{ name: 'conf', title: 'by hand (libconfig)', end: 'conf' },
];
const LARGEST = 16 << 20;

const convert = (body, to) => text(`/v1/workflows/convert?to=${to}`, { method: 'POST', body });

async function readFile(file) {
	if (file.size > LARGEST)
		throw new Error('The file is larger than 16 MiB.');
	const json = JSON.parse(await convert(await file.text(), 'wfformat'));
	return fromFlow(readWfFormat(json));
}

// What has mistakes is kept as it is drawn: WfFormat alone holds it.
async function exportAs(doc, form) {
	const { text: drawn } = writeWfFormat(toFlow(doc));
	save(`${doc.name || 'workflow'}.${form.end}`, '', form.name === 'wfformat' ? drawn : await convert(drawn, form.name));
}

export function Files({ doc, onImport, onError }) {
	const [to, setTo] = useState(forms[0].name);
	const take = (e) => {
		const [file] = e.target.files;
		e.target.value = '';
		if (file)
			readFile(file).then((d) => { onError(''); onImport(d); }, (error) => onError(`${file.name}: ${error.message}`));
	};
	const give = () => exportAs(doc, forms.find((f) => f.name === to)).then(() => onError(''), (error) => onError(error.message));
	return html`<label class="file-button">Import<input type="file" accept=".json,.xml,.dax,.conf" onChange=${take} /></label>
		<label class="by-form">as <select aria-label="Form of export" value=${to} onChange=${(e) => setTo(e.target.value)}>${forms.map((f) => html`<option key=${f.name} value=${f.name}>${f.title}</option>`)}</select></label>
		<button type="button" disabled=${!doc.tasks.length} onClick=${give}>Export</button>`;
}
