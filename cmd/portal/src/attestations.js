// Attestations of erases: listed, saved as the bytes that were signed, and one of anybody checked with the head's key.
import { useEffect, useState } from 'preact/hooks';
import { get, post } from './api.js';
import { save } from './export.js';
import { html } from './html.js';
import { moment } from './words.js';

const PORTION = 50, LARGEST = 900_000;

function Row({ a, onSave, onCheck }) {
	return html`<tr><td>${a.id}</td><td>${a.node}</td><td>${moment(a.made_ms)}</td><td>${a.from_owner || 'nobody known'}</td><td>${a.to_owner || 'nobody yet'}</td><td>${a.n_disks}</td>
		<td>${a.reset}</td><td>${moment(a.until_ms)}</td><td class="row-acts"><button type="button" onClick=${() => onSave(a.id)} aria-label=${`Save attestation ${a.id}`}>Save</button>
			<button type="button" onClick=${() => onCheck(a.id)} aria-label=${`Check attestation ${a.id}`}>Check</button></td></tr>`;
}

function Verdict({ said }) {
	if (!said)
		return null;
	const who = `attestation ${said.id} of ${said.node}`;
	return html`<p class=${said.ok ? 'notice' : 'trouble'} role="status">${said.name}: ${said.ok
		? `OK: ${who}: data of ${said.from_owner || 'nobody that is known'} is erased from its ${said.n_disks - (said.n_left || 0)} disks${said.n_left ? `, and ${said.n_left} left as protected, with all data` : ''}; it counts until ${moment(said.until_ms)}.` : `NO: ${said.text}`}</p>`;
}

function Checking({ onCheck }) {
	return html`<section class="sheet" aria-label="Check a document"><h2>Check a document</h2>
		<p>The head checks it with its own key. Who does not believe the head does it elsewhere, with a key that he got before: <code>phx erasure verify FILE --pub attest.pub</code></p>
		<p><label>Attestation <input type="file" onChange=${(e) => e.target.files[0] && onCheck(e.target.files[0])} /></label></p></section>`;
}

export function Attestations() {
	const [node, setNode] = useState('');
	const [list, setList] = useState(null);
	const [said, setSaid] = useState(null);
	const [error, setError] = useState('');
	const fail = (e) => e.name !== 'AbortError' && setError(e.message);
	const read = (of, before, old, signal) => get(`/v1/erasures?limit=${PORTION}${of && `&node=${encodeURIComponent(of)}`}${before ? `&before=${before}` : ''}`, { signal }).then((a) => {
		setList({ rows: [...old, ...a.erasures], last: a.last, more: a.more });
		setError('');
	}, fail);
	useEffect(() => {
		const abort = new AbortController();
		read(node, 0, [], abort.signal);
		return () => abort.abort();
	}, [node]);
	const check = async (name, text) => post('/v1/erasures/check', { text }).then((v) => setSaid({ ...v, name }), fail);
	const document = (id) => get(`/v1/erasures/${id}`).then((a) => a.text);
	const checkFile = async (file) => (file.size > LARGEST ? setSaid({ name: file.name, text: 'it is too large to be an attestation' }) : check(file.name, await file.text()));
	return html`${error && html`<p class="trouble" role="alert">${error}</p>`}<${Verdict} said=${said} />
		<form class="controls" role="search" aria-label="Attestations of a node" onSubmit=${(e) => { e.preventDefault(); setNode(new FormData(e.target).get('node').trim()); }}>
			<label>Of node <input name="node" maxlength="63" /></label><button type="submit">Show</button>
			<button type="button" onClick=${() => get('/v1/attestation-key').then((k) => save('attest.pub', 'application/x-pem-file', k.pem + (k.ca || '')), fail)}>Save the key</button></form>
		${list && !list.rows.length && html`<p class="notice">There is no attestation.</p>`}
		${list?.rows.length > 0 && html`<div class="wide" tabindex="0" role="region" aria-label="List of attestations"><table>
			<thead><tr>${['Id', 'Node', 'Made', 'Data of', 'For', 'Disks', 'Reset', 'Counts until', 'Document'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
			<tbody>${list.rows.map((a) => html`<${Row} key=${a.id} a=${a} onSave=${(id) => document(id).then((t) => save(`attestation-${id}`, 'application/json', t), fail)}
				onCheck=${(id) => document(id).then((t) => check(`attestation ${id}`, t), fail)} />`)}</tbody></table></div>`}
		${list?.more && html`<p><button type="button" onClick=${() => read(node, list.last, list.rows)}>Older ones</button></p>`}
		<${Checking} onCheck=${checkFile} />`;
}
