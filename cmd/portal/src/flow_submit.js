// What is drawn is submitted: into which RE, and whether it is held back first.
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, get } from './api.js';
import { toFlow } from './flow_doc.js';
import { writeWfFormat } from './flow_wfformat.js';
import { html } from './html.js';
import { go } from './route.js';

function useRes() {
	const [res, setRes] = useState(null);
	useEffect(() => {
		get('/v1/res', { watch: true }).then((a) => setRes(a.res.filter((r) => (r.type ?? r.agreement?.type) === 'many_tasks')), () => setRes([]));
	}, []);
	return res;
}

export function Submit({ doc, onClose }) {
	const dialog = useRef(null), res = useRes();
	const [said, setSaid] = useState('');
	useEffect(() => dialog.current.showModal(), []);
	const submit = (e) => {
		const data = new FormData(e.target), re = data.get('re');
		e.preventDefault();
		call('PUT', `/v1/workflows?re=${encodeURIComponent(re)}${data.get('hold') ? '&hold=true' : ''}`, { body: writeWfFormat(toFlow(doc)).text })
			.then((a) => { dialog.current.close(); go('workflows', String(a.id)); }, (error) => setSaid(error.message));
	};
	return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="submit-title"><h2 id="submit-title">Submit ${doc.name || 'the workflow'}</h2>
		<form onSubmit=${submit}>${res && !res.length && html`<p class="notice">There is no RE for workflows (type many_tasks) of which you are a member.</p>`}
			<div class="fields"><label>Runtime environment <select name="re" required>${(res ?? []).map((r) => html`<option key=${r.name} value=${r.name}>${r.name}</option>`)}</select></label>
				<label class="check"><input name="hold" type="checkbox" /> hold it back</label></div>
			<p>${doc.tasks.length === 1 ? 'One task runs' : `${doc.tasks.length} tasks run`} as you, in the data directory of the RE.</p>
			${said && html`<p class="trouble" role="alert">${said}</p>`}
			<p class="acts"><button type="button" onClick=${() => dialog.current.close()}>Leave it</button><button type="submit" class="main" disabled=${!res?.length}>Submit</button></p></form></dialog>`;
}
