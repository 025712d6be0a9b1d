// What is drawn is submitted: into which RE, and whether it is held back first.
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from './api.js';
import { toFlow } from './flow_doc.js';
import { ChooseRe, NoRe, useFlowRes } from './flow_res.js';
import { writeWfFormat } from './flow_wfformat.js';
import { html } from './html.js';
import { useOnce } from './once.js';
import { go } from './route.js';

export function Submit({ doc, onClose }) {
	const dialog = useRef(null), res = useFlowRes();
	const [said, setSaid] = useState('');
	const [busy, once] = useOnce();
	useEffect(() => dialog.current.showModal(), []);
	const submit = (e) => {
		const data = new FormData(e.target), re = data.get('re');
		e.preventDefault();
		once(() => call('PUT', `/v1/workflows?re=${encodeURIComponent(re)}${data.get('hold') ? '&hold=true' : ''}`, { body: writeWfFormat(toFlow(doc)).text })
			.then((a) => { dialog.current.close(); go('workflows', String(a.id)); }, (error) => setSaid(error.message)));
	};
	return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="submit-title"><h2 id="submit-title">Submit ${doc.name || 'the workflow'}</h2>
		<form onSubmit=${submit}><${NoRe} res=${res} />
			<div class="fields"><${ChooseRe} res=${res} />
				<label class="check"><input name="hold" type="checkbox" /> hold it back</label></div>
			<p>${doc.tasks.length === 1 ? 'One task runs' : `${doc.tasks.length} tasks run`} as you, in the data directory of the RE.</p>
			${said && html`<p class="trouble" role="alert">${said}</p>`}
			<p class="acts"><button type="button" onClick=${() => dialog.current.close()}>Leave it</button><button type="submit" class="main" disabled=${!res?.length || busy}>Submit</button></p></form></dialog>`;
}
