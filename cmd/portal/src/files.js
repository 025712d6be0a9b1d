// The data directory of a runtime environment: what lies there, fetched, put and removed.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, remove, upload } from './api.js';
import { html } from './html.js';
import { bytes, moment } from './words.js';

const SHOWN = 500;
const base = (name) => `/v1/res/${encodeURIComponent(name)}/data`;
const pathOf = (name, file) => `${base(name)}/${file.split('/').map(encodeURIComponent).join('/')}`;

function File({ name, file, onRemove }) {
	const [sure, setSure] = useState(false);
	return html`<tr><td><a href=${pathOf(name, file.path)} download=${file.path.split('/').pop()}>${file.path}</a></td><td>${bytes(file.size_bytes)}</td><td>${moment(file.modified_ms)}</td>
		<td>${sure ? html`<button type="button" class="danger" onClick=${onRemove}>Remove for good</button> <button type="button" onClick=${() => setSure(false)}>Keep</button>`
		: html`<button type="button" aria-label=${`Remove ${file.path}`} onClick=${() => setSure(true)}>Remove</button>`}</td></tr>`;
}

function Put({ name, onDone, onFail }) {
	const [path, setPath] = useState('');
	const [busy, setBusy] = useState(false);
	const input = useRef(null);
	const put = (e) => {
		e.preventDefault();
		const file = input.current.files[0];
		if (!file || busy)
			return;
		setBusy(true);
		upload(pathOf(name, path || file.name), file).then(onDone, onFail).finally(() => setBusy(false));
	};
	return html`<form class="inline" onSubmit=${put}><label>File <input type="file" ref=${input} required /></label>
		<label>Put as (its own name) <input value=${path} maxlength="255" onInput=${(e) => setPath(e.target.value)} /></label>
		<button type="submit" disabled=${busy}>${busy ? 'Putting …' : 'Put'}</button></form>`;
}

export function Files({ name }) {
	const [files, setFiles] = useState(null);
	const [said, setSaid] = useState('');
	const fail = (e) => setSaid(e.message);
	const read = () => get(base(name), { watch: true }).then((a) => { setFiles(a.files); setSaid(''); }, fail);
	useEffect(() => { read(); }, [name]);
	return html`<section aria-label="Files"><h3>Files</h3>
		${files?.length === 0 && html`<p class="quiet">None.</p>`}
		${files?.length > 0 && html`<div class="scrolls" tabindex="0" role="region" aria-label="List of files"><table class="files"><thead><tr>${['Path', 'Size', 'Changed', ''].map((t) => html`<th scope="col" key=${t}>${t || html`<span class="heard">Remove</span>`}</th>`)}</tr></thead>
			<tbody>${files.slice(0, SHOWN).map((f) => html`<${File} key=${f.path} name=${name} file=${f} onRemove=${() => remove(pathOf(name, f.path)).then(read, fail)} />`)}</tbody></table></div>`}
		${files?.length > SHOWN && html`<p class="quiet">${SHOWN} of ${files.length}.</p>`}
		<${Put} name=${name} onDone=${read} onFail=${fail} />
		${said && html`<p class="trouble" role="alert">${said}</p>`}</section>`;
}
