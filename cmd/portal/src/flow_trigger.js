// A trigger: what is drawn is submitted by itself, when a file comes, at times, or when somebody calls.
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from './api.js';
import { toFlow } from './flow_doc.js';
import { ChooseRe, NoRe, useFlowRes } from './flow_res.js';
import { writeWfFormat } from './flow_wfformat.js';
import { html } from './html.js';
import { useOnce } from './once.js';
import { go } from './route.js';

const units = [['s', 1000], ['min', 60000], ['h', 3600000], ['days', 86400000]];
const kinds = [
	{ name: 'file', title: 'a file comes', fields: WhenFile, hint: 'A path below your directory in the data of the RE (users/NAME); *, ? and [a-z] as in a shell. Files that are there already do not count. Tasks read the path in PHX_TRIGGER_FILE.', when: (data) => ({ file: data.get('file'), stable_ms: 1000 * Number(data.get('stable') || 0) }) },
	{ name: 'every', title: 'time has passed', fields: WhenEvery, when: (data) => ({ every_ms: Number(data.get('every')) * Number(data.get('unit')) }) },
	{ name: 'http', title: 'somebody calls', hint: 'Its address and a token are told when it is made, and the token never again.', when: (data) => ({ http: `/hook/${data.get('name')}` }) },
];

function WhenFile() {
	return html`<label>File <input name="file" required maxlength="255" placeholder="in/*.fits" spellcheck=${false} aria-describedby="when-hint" /></label>
		<label>unchanged for so many seconds <input name="stable" type="number" min="0" value="0" /></label>`;
}
function WhenEvery() {
	return html`<label>Every <input name="every" type="number" min="1" required value="15" /></label>
		<label>of <select name="unit">${units.map(([name, ms]) => html`<option key=${name} value=${ms} selected=${name === 'min'}>${name}</option>`)}</select></label>`;
}

// What is told once: who closes this does not get it back.
function Made({ made, onClose }) {
	return html`<p class="notice" role="status">Trigger ${made.name} is made.</p>${made.token && html`<p>Whoever calls <code>POST ${made.path}</code> with this token in the header
		<code>Authorization: Bearer …</code> has the workflow submitted. It is shown this once:</p><p><code class="token">${made.token}</code></p>`}
		<p class="acts"><button type="button" class="main" onClick=${onClose}>${made.token ? 'I have it' : 'Good'}</button></p>`;
}

export function SetTrigger({ doc, onClose }) {
	const dialog = useRef(null), res = useFlowRes();
	const [kind, setKind] = useState(kinds[0]);
	const [said, setSaid] = useState('');
	const [made, setMade] = useState(null);
	const [busy, once] = useOnce();
	useEffect(() => dialog.current.showModal(), []);
	const send = (e) => {
		const data = new FormData(e.target), spec = { name: data.get('name'), when: kind.when(data), when_busy: data.get('busy') };
		e.preventDefault();
		once(() => call('PUT', `/v1/triggers?re=${encodeURIComponent(data.get('re'))}`, { body: `${JSON.stringify(spec)}\n${writeWfFormat(toFlow(doc)).text}` })
			.then(setMade, (error) => setSaid(error.message)));
	};
	const leave = () => dialog.current.close();
	return html`<dialog ref=${dialog} onClose=${() => { onClose(); if (made) go('workflows'); }} aria-labelledby="trigger-title"><h2 id="trigger-title">Have ${doc.name || 'the workflow'} submitted by itself</h2>
		${made ? html`<${Made} made=${made} onClose=${leave} />` : html`<form onSubmit=${send}><${NoRe} res=${res} />
			<div class="fields"><label>Name of the trigger <input name="name" required maxlength="63" spellcheck=${false} autocomplete="off" /></label><${ChooseRe} res=${res} />
				<label>When <select value=${kind.name} onChange=${(e) => setKind(kinds.find((k) => k.name === e.target.value))}>${kinds.map((k) => html`<option key=${k.name} value=${k.name}>${k.title}</option>`)}</select></label>
				${kind.fields && html`<${kind.fields} />`}
				<label>While a run of it goes on <select name="busy"><option value="coalesce">one run for all that comes</option><option value="queue">a run each, one after the other</option><option value="skip">nothing</option></select></label></div>
			${kind.hint && html`<p class="quiet" id="when-hint">${kind.hint}</p>`}
			${said && html`<p class="trouble" role="alert">${said}</p>`}
			<p class="acts"><button type="button" onClick=${leave}>Leave it</button><button type="submit" class="main" disabled=${!res?.length || busy}>Set it</button></p></form>`}</dialog>`;
}
